// The result of a verification of an attempt.
#pragma once

#include <cstdint>
#include <string_view>

namespace caisson {

/// What became of a call whose attempt failed.
enum class effect : std::uint8_t {
  /// Unknown, or not known yet: an attempt may still be in progress.
  unknown,
  /// It was carried out.
  done,
  /// It was not carried out, and no attempt so far can still do it.
  not_done,
};

[[nodiscard]] constexpr std::string_view name_of(effect x) noexcept {
  switch (x) {
    case effect::unknown:
      return "unknown";
    case effect::done:
      return "done";
    case effect::not_done:
      return "not_done";
  }
  return "unknown";
}

} // namespace caisson
