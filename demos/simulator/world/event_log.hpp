// Event log of a run, a line for each event.
#pragma once

#include <caisson/base/hash.hpp>
#include <caisson/base/time.hpp>

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace caisson::sim {

/// The event log: lines of text, of which only a digest is kept. The digest is
/// the 64-bit FNV-1a hash of all lines, each with its line break.
class event_log {
public:
  explicit event_log(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)) {}

  /// Adds the line `<seconds since the start> <text>`. `text` is what
  /// `FMT_COMPILE` makes of a format, as reading one for each of so many lines
  /// would take a good part of the time of a run.
  template <class Text, class... Ts>
  void line(duration at, const Text& text, const Ts&... xs) {
    buffer_.clear();
    auto ns = at.count();
    fmt::format_to(fmt::appender(buffer_), FMT_COMPILE("{}.{:09} "),
                   ns / 1'000'000'000, ns % 1'000'000'000);
    fmt::format_to(fmt::appender(buffer_), text, xs...);
    finish_line();
  }

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

private:
  void finish_line();

  std::function<void(std::string_view)> sink_;
  fmt::memory_buffer buffer_;
  std::uint64_t lines_ = 0;
  std::uint64_t digest_ = caisson::detail::fnv1a_start;
};

} // namespace caisson::sim
