#include <caisson/policy/waiting_settings.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

void check_waiting(std::uint32_t max_waiters, duration max_wait,
                   wait_order order, const setting_path& path, problems& out) {
  auto wrong = [&](std::string_view key, std::string message) {
    out.push_back({problem_kind::relation, path / key, std::move(message)});
  };
  auto bounded = max_wait > duration::zero() && max_wait < unlimited;
  if (max_waiters == 0 && bounded)
    wrong("max_wait",
          fmt::format("{} has no effect: max_waiters is 0, so that no call "
                      "waits, allowed: 0s or unlimited, or max_waiters of at "
                      "least 1",
                      to_text(max_wait)));
  if (max_waiters == 0 && order == wait_order::lifo)
    wrong("order", "lifo has no effect: max_waiters is 0, so that no call "
                   "waits, allowed: fifo, or max_waiters of at least 1");
  if (max_waiters > 0 && max_wait == duration::zero())
    wrong("max_wait", fmt::format("0s lets no call wait, but max_waiters is "
                                  "{}, allowed: 1ns to unlimited, or "
                                  "max_waiters of 0",
                                  max_waiters));
}

} // namespace caisson::detail
