#include <caisson/policy/waiting_settings.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t most_kept = 999'999;

void report_relation(std::string_view key, std::string message,
                     const setting_path& path, problems& out) {
  out.push_back({problem_kind::relation, path / key, std::move(message)});
}

// What is no order has been reported already.
std::string_view order_name(wait_order order) noexcept {
  auto i = static_cast<std::size_t>(order);
  constexpr auto& names = enum_names<wait_order>::value;
  return i < std::size(names) ? names[i] : std::string_view{};
}

// A number of waiting calls that must be less than there can be.
void check_reachable(std::string_view key, std::uint32_t n,
                     std::uint32_t max_waiters, const setting_path& path,
                     problems& out) {
  if (n >= max_waiters && n <= most_kept)
    report_relation(key,
                    fmt::format("{} is never exceeded: max_waiters is {}, "
                                "allowed: 0 to {}",
                                n, max_waiters, max_waiters - 1),
                    path, out);
}

} // namespace

void describe_order(field_visitor& v, wait_order& order, queue_settings& q) {
  v.choice({"order",
            "whose turn it is: fifo: the oldest waiter; lifo: the newest; "
            "adaptive_lifo: the newest while more than lifo_above wait, else "
            "the oldest; codel: the oldest, and some are shed while all wait "
            "too long; deadline_first: that with the earliest deadline; "
            "priority: that with the highest priority; fair: those of each key "
            "in turn"},
           order);
  v.integer(
    {.key = "lifo_above",
     .help = "the newest waiter is next while more than this many wait, "
             "the oldest otherwise; less than max_waiters",
     .when = {"order", {"adaptive_lifo"}}},
    q.lifo_above, {0, most_kept});
  v.on({.key = "codel_target",
        .help = "waits that are shorter (<) are good",
        .when = {"order", {"codel"}}},
       q.codel_target, {1us, 1h});
  v.on({.key = "codel_interval",
        .help = "when every wait was too long for this time, calls are shed, "
                "the sooner the longer it lasts",
        .when = {"order", {"codel"}}},
       q.codel_interval, {1us, 1h});
  v.integer(
    {.key = "codel_keep",
     .help = "no call is shed if fewer than this many would still wait; "
             "less than max_waiters",
     .when = {"order", {"codel"}}},
    q.codel_keep, {0, most_kept});
  v.on({.key = "aging",
        .help = "how much longer a call must have waited to be next before one "
                "whose priority is higher by 1; unlimited: the higher priority "
                "is always next",
        .when = {"order", {"priority"}}},
       q.aging, {1us, unlimited});
  v.on({"reject_hopeless",
        "whether a call that must wait is rejected as soon as it cannot be "
        "answered by its deadline, judged by how long calls have kept permits"},
       q.reject_hopeless);
}

void check_waiting(std::uint32_t max_waiters, duration max_wait,
                   const setting_path& path, problems& out) {
  auto bounded = max_wait > duration::zero() && max_wait < unlimited;
  if (max_waiters == 0 && bounded)
    report_relation(
      "max_wait",
      fmt::format("{} has no effect: max_waiters is 0, so that no call "
                  "waits, allowed: 0s or unlimited, or max_waiters of at "
                  "least 1",
                  to_text(max_wait)),
      path, out);
  if (max_waiters > 0 && max_wait == duration::zero())
    report_relation("max_wait",
                    fmt::format("0s lets no call wait, but max_waiters is "
                                "{}, allowed: 1ns to unlimited, or "
                                "max_waiters of 0",
                                max_waiters),
                    path, out);
}

void check_order(std::uint32_t max_waiters, wait_order order,
                 const queue_settings& q, const setting_path& path,
                 problems& out) {
  if (max_waiters == 0 && order != wait_order::fifo)
    return report_relation(
      "order",
      fmt::format("{} has no effect: max_waiters is 0, so that no call "
                  "waits, allowed: fifo, or max_waiters of at least 1",
                  order_name(order)),
      path, out);
  if (max_waiters == 0 && q.reject_hopeless)
    report_relation("reject_hopeless",
                    "true has no effect: max_waiters is 0, so that no call "
                    "waits, allowed: false, or max_waiters of at least 1",
                    path, out);
  if (order == wait_order::adaptive_lifo)
    check_reachable("lifo_above", q.lifo_above, max_waiters, path, out);
  if (order != wait_order::codel)
    return;
  check_reachable("codel_keep", q.codel_keep, max_waiters, path, out);
  // What is out of range has been reported already.
  if (q.codel_target > q.codel_interval && q.codel_target <= 1h
      && q.codel_interval >= 1us)
    report_relation("codel_target",
                    fmt::format("{} is longer than codel_interval, allowed: "
                                "1us to {}",
                                to_text(q.codel_target),
                                to_text(q.codel_interval)),
                    path, out);
}

void check_order_per_key(wait_order order, const setting_path& path,
                         problems& out) {
  if (order == wait_order::fair)
    report_relation("order",
                    "fair has no effect: with per_key all calls in one queue "
                    "have the same key, allowed: another order, or no per_key",
                    path, out);
}

} // namespace caisson::detail
