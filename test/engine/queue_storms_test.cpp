// A hundred thousand calls that wait for permits in each order, and how they
// end: each has one answer, and it takes time that grows with their number.
#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/stack.hpp>

#include <support/engine_world.hpp>
#include <support/growth.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t storm_callers = 100;

struct storm_ending {
  std::string name;
  std::function<void(engine_world&, int, wait_order)> run;
};

std::ostream& operator<<(std::ostream& out, const storm_ending& x) {
  return out << x.name;
}

// Each answer lets the next call go down.
void answer_attempts(engine_world& w, std::size_t from, std::size_t to) {
  for (auto i = from; i < to && i < w.attempts.size(); ++i)
    w.answer(i, "y");
}

// All numbers below `n`, far apart.
std::vector<std::size_t> mixed_up(int n) {
  std::vector<std::size_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0u);
  for (auto i = out.size() - 1; i > 0; --i)
    std::swap(out[i], out[i * 7'919 % (i + 1)]);
  return out;
}

void change_semaphore(engine_world& w,
                      std::map<std::string, std::string> settings) {
  auto failure = w.step([&](auto& e, auto now) {
    return e.on_reconfigure(reconfigure{"semaphore", std::move(settings)}, now);
  });
  EXPECT_FALSE(failure) << words_of(failure);
}

// Half of them are served, then the order is the next one and there are
// permits for half of the rest.
void change_half_way(engine_world& w, int n, wait_order order) {
  answer_attempts(w, 0, static_cast<std::size_t>(n / 2));
  const auto& names = enum_names<wait_order>::value;
  auto next = (static_cast<std::size_t>(order) + 1) % std::size(names);
  change_semaphore(w, {{"order", std::string{names[next]}},
                       {"permits", std::to_string(n / 4)}});
  EXPECT_GE(w.attempts.size(), static_cast<std::size_t>(n / 4));
  answer_attempts(w, static_cast<std::size_t>(n / 2), w.attempts.size() + n);
}

std::vector<storm_ending> storm_endings() {
  return {
    {"all are served",
     [](auto& w, int n, auto) {
       answer_attempts(w, 0, static_cast<std::size_t>(n));
     }},
    {"the order and the permits change half way", change_half_way},
    {"their deadlines pass one by one", [](auto& w, int, auto) { w.at(2h); }},
    {"they have waited long enough, all at once",
     [](auto& w, int n, auto) {
       w.at(10min);
       answer_attempts(w, 0, static_cast<std::size_t>(n));
     }},
    {"they are cancelled one by one",
     [](auto& w, int n, auto) {
       for (auto i : mixed_up(n))
         w.cancel(1 + i % storm_callers, i + 1);
     }},
    {"their callers die",
     [](auto& w, int, auto) {
       for (std::uint64_t caller = 1; caller <= storm_callers; ++caller)
         w.caller_down(caller);
       answer_attempts(w, 0, w.attempts.size());
     }},
    {"their only caller dies when calls are shed",
     [](auto& w, int, auto) {
       w.at(5s);
       answer_attempts(w, 0, 4);
       w.at(10s);
       w.caller_down(1);
       auto in_use = w.step([](auto& e, auto now) {
         return e.make_status(now).metric("semaphore", "in_use");
       });
       EXPECT_EQ(in_use, 0);
     }},
    {"the worker dies", [](auto& w, int, auto) { w.kill(0); }},
    {"the gate drains",
     [](auto& w, int n, auto) {
       w.drain();
       answer_attempts(w, 0, static_cast<std::size_t>(n));
     }},
    {"the gate is stopped", [](auto& w, int, auto) { w.stop(); }},
    {"the layer is gone",
     [](auto& w, int n, auto) {
       w.swap({});
       answer_attempts(w, 0, static_cast<std::size_t>(n));
     }},
  };
}

// How long the end of `n` calls takes: with distinct keys and deadlines, the
// later the earlier, and seven priorities.
double end_storm(wait_order order, const storm_ending& how, int n) {
  semaphore_config c;
  c.permits = 4;
  c.max_waiters = static_cast<std::uint32_t>(n);
  c.max_wait = 10min;
  c.order = order;
  if (how.name == "their deadlines pass one by one")
    c.max_wait = unlimited;
  engine_world w{stack{}.semaphore(c).build()};
  auto count = static_cast<std::size_t>(n);
  auto callers = how.name.starts_with("their only caller") ? 1 : storm_callers;
  for (std::size_t i = 0; i < count; ++i)
    w.call("x",
           {.time_left = 1h + std::chrono::microseconds(2 * (count - i)),
            .priority = static_cast<std::int32_t>(i * 7'919 % 7),
            .key = std::to_string(i)},
           1 + i % callers);
  EXPECT_EQ(w.attempts.size(), 4u);
  EXPECT_EQ(w.live(), count);
  w.take();
  auto start = thread_seconds();
  how.run(w, n, order);
  auto took = thread_seconds() - start;
  EXPECT_EQ(w.unanswered(), 0u);
  return took;
}

class queue_storms : public testing::TestWithParam<storm_ending> {};

INSTANTIATE_TEST_SUITE_P(endings, queue_storms,
                         testing::ValuesIn(storm_endings()));

TEST_P(queue_storms, have_one_answer_for_each_call_in_each_order) {
  for (int order = 0; order < 7; ++order) {
    SCOPED_TRACE(order);
    end_storm(static_cast<wait_order>(order), GetParam(), 2'000);
  }
}

// Each order with one ending or two: all of them would take minutes.
TEST(queue_storm, of_100000_calls_takes_time_that_grows_with_their_number) {
  int order = 0;
  for (const auto& ending : storm_endings()) {
    SCOPED_TRACE(fmt::format("order {}, {}", order, ending.name));
    expect_linear(12'500, 100'000, [&](int n) {
      return end_storm(static_cast<wait_order>(order), ending, n);
    });
    order = (order + 1) % 7;
  }
}

} // namespace
} // namespace caisson::test
