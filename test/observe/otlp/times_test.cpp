// Times of events by the calendar.
#include <caisson/observe/detail/event_writer.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class time_target final : public detail::event_target {
public:
  explicit time_target(std::vector<utc_time>& out) : out_(out) {}

  void write(const event&, utc_time at) override { out_.push_back(at); }

private:
  std::vector<utc_time>& out_;
};

// Spans lie within each other only if their ends are not moved.
TEST(times_of_events, stay_apart_as_they_were_unless_the_calendar_is_set) {
  std::vector<utc_time> found;
  // What the calendar seems to be ahead of the gates' clock changes.
  std::atomic<std::int64_t> shift{0};
  auto now = [&] {
    return time_point{std::chrono::steady_clock::now().time_since_epoch()
                      + std::chrono::nanoseconds{shift}};
  };
  auto writer = std::make_shared<detail::event_writer>(
    std::make_unique<time_target>(found), 100, now, true);
  writer->start();
  event x;
  x.time_ns = 1'000;
  for (auto d : {0ms, 4ms, -4ms, 3'600'000ms, 3'600'002ms}) {
    shift = std::chrono::nanoseconds{d}.count();
    writer->offer(caf::make_message(x));
    writer->flush();
  }
  writer->close();
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
  EXPECT_LT(found[3], found[0] - 59min);
  EXPECT_EQ(found[4], found[3]);
}

} // namespace
} // namespace caisson::test
