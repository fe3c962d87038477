// What the demos share: telling what happens, and checking that it does.
#pragma once

#include <caisson/error.hpp>
#include <caisson/virtual_time.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace demo {

/// An error for people, such as `rate_limited by limiter, retry after 100ms`.
inline std::string text_of(const caf::error& err) {
  auto* context = caisson::context_of(err);
  if (!context)
    return "the worker's own error";
  auto text = fmt::format(
    "{} by {}", caisson::name_of(caisson::errc{err.code()}), context->policy);
  if (context->retry_after > caisson::duration::zero())
    text += ", retry after " + caisson::to_text(context->retry_after);
  if (!context->text.empty())
    text += ": " + context->text;
  return text;
}

/// An answer for people: a number, a text, an error, or that there is none.
inline std::string text_of(const caisson::pending_answer& answer) {
  if (!answer.ready())
    return "no answer yet";
  if (auto err = answer.error())
    return text_of(err);
  if (auto* x = caisson::portable::get_if<std::int32_t>(answer.content()))
    return std::to_string(*x);
  if (auto* x = caisson::portable::get_if<std::string>(answer.content()))
    return *x;
  return "done";
}

/// Prints what happens, and remembers whether everything that the demo claims
/// was true.
class story {
public:
  /// For demos on the real clock.
  story() = default;

  /// Each line begins with the time in `world`.
  explicit story(caisson::virtual_time& world) : world_(&world) {}

  template <class... Ts>
  void tell(fmt::format_string<Ts...> text, Ts&&... xs) {
    auto line = fmt::format(text, std::forward<Ts>(xs)...);
    if (world_)
      fmt::print("{:7.3f} s  {}\n", caisson::to_seconds(world_->elapsed()),
                 line);
    else
      fmt::print("{}\n", line);
    // Several processes may write to the same place.
    std::fflush(stdout);
  }

  /// Prints only claims that are false.
  void check(bool holds, std::string_view claim) {
    if (holds)
      return;
    ok_ = false;
    tell("NOT TRUE: {}", claim);
  }

  /// What `main` returns.
  [[nodiscard]] int end() const { return ok_ ? 0 : 1; }

private:
  caisson::virtual_time* world_ = nullptr;
  bool ok_ = true;
};

} // namespace demo
