// Helpers of the demos: they print what happens, and check it.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace demo {

/// As `caisson::to_text`; of an error that is not Caisson's, whose it is.
inline std::string text_of(const caf::error& err) {
  return caisson::context_of(err) ? caisson::to_text(err)
                                  : "the worker's own error";
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
  void print(fmt::format_string<Ts...> text, Ts&&... xs) {
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
    print("NOT TRUE: {}", claim);
  }

  /// What `main` returns.
  [[nodiscard]] int end() const { return ok_ ? 0 : 1; }

private:
  caisson::virtual_time* world_ = nullptr;
  bool ok_ = true;
};

} // namespace demo
