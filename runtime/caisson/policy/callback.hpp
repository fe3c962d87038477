// Calls user functions, which may throw.
#pragma once

#include <caisson/policy/policy.hpp>

#include <exception>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace caisson {

/// Calls `f` and returns its result. If it throws, calls `failed` with the text
/// of the exception, which is valid only during that call, and returns nothing.
/// For an `f` without a result, returns whether it did not throw.
template <class F, class Failed>
[[nodiscard]] auto try_user(F&& f, Failed&& failed) {
  using result = std::invoke_result_t<F>;
  using maybe = std::conditional_t<std::is_void_v<result>, bool,
                                   std::optional<result>>;
  try {
    if constexpr (std::is_void_v<result>) {
      std::forward<F>(f)();
      return true;
    } else {
      return maybe{std::forward<F>(f)()};
    }
  } catch (const std::exception& x) {
    std::forward<Failed>(failed)(std::string_view{x.what()});
  } catch (...) {
    std::forward<Failed>(failed)(std::string_view{"unknown exception"});
  }
  return maybe{};
}

/// Does what `try_user` does, and reports to the host which function failed.
template <class F>
[[nodiscard]] auto call_user(std::string_view name, F&& f, env& e) {
  return try_user(std::forward<F>(f),
                  [&](std::string_view what) { e.callback_threw(name, what); });
}

} // namespace caisson
