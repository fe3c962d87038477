#include <caisson/adapters/interruption.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace caisson {
namespace {

using namespace std::chrono_literals;
using woken = interruption::wake;

time_point time_in(duration d) {
  return std::chrono::steady_clock::now() + d;
}

class interruption_test : public testing::Test {
protected:
  interruption_test() { EXPECT_EQ(::pipe(ends), 0); }
  ~interruption_test() override {
    ::close(ends[0]);
    ::close(ends[1]);
  }

  int ends[2];
  interruption x;
};

TEST_F(interruption_test, waits_until_there_is_something) {
  EXPECT_EQ(x.wait(ends[1], POLLOUT, time_in(1h)), woken::ready);
  ASSERT_EQ(::write(ends[1], "a", 1), 1);
  EXPECT_EQ(x.wait(ends[0], POLLIN, time_in(1h)), woken::ready);
}

TEST_F(interruption_test, waits_no_longer_than_it_may) {
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(x.wait(ends[0], POLLIN, time_in(20ms)), woken::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_EQ(x.wait(ends[1], POLLOUT, time_in(0ms)), woken::timeout);
}

TEST_F(interruption_test, ends_the_wait_of_another_thread) {
  x.begin(3);
  std::thread other{[this] { x.interrupt(3); }};
  EXPECT_EQ(x.wait(ends[0], POLLIN, time_in(1h)), woken::interrupted);
  other.join();
  EXPECT_TRUE(x.interrupted());
  EXPECT_EQ(x.wait(ends[1], POLLOUT, time_in(1h)), woken::interrupted);
}

TEST_F(interruption_test, concerns_one_job_and_those_before_it) {
  x.begin(3);
  x.interrupt(3);
  x.begin(4);
  EXPECT_FALSE(x.interrupted());
  EXPECT_EQ(x.wait(ends[0], POLLIN, time_in(20ms)), woken::timeout);
  x.interrupt(2);
  EXPECT_EQ(x.wait(ends[1], POLLOUT, time_in(1h)), woken::ready);
  x.interrupt(7);
  EXPECT_TRUE(x.interrupted());
  x.begin(7);
  EXPECT_TRUE(x.interrupted());
  x.begin(8);
  EXPECT_FALSE(x.interrupted());
}

TEST_F(interruption_test, takes_the_end_of_a_connection_for_something) {
  ::close(std::exchange(ends[1], -1));
  EXPECT_EQ(x.wait(ends[0], POLLIN, time_in(1h)), woken::ready);
}

} // namespace
} // namespace caisson
