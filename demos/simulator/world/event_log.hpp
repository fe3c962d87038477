// Event log of a run, a line for each event.
#pragma once

#include <caisson/base/hash.hpp>
#include <caisson/base/time.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

/// The event log: lines of text, of which only a digest is kept. The digest is
/// the 64-bit FNV-1a hash of all lines, each with its line break.
class event_log {
public:
  explicit event_log(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)) {}

  /// Adds the line `<seconds since the start> <text>`. The text is that of all
  /// parts, which are texts and whole numbers that are not negative.
  template <class... Ts>
  void line(duration at, const Ts&... parts) {
    end_ = text_.data();
    add_time(at);
    (add(parts), ...);
    finish_line();
  }

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

private:
  void add_time(duration at);
  void add(std::string_view part) {
    make_room(part.size());
    end_ = std::copy(part.begin(), part.end(), end_);
  }
  void add(std::unsigned_integral auto number) { add_number(number); }
  void add_number(std::uint64_t number);
  void finish_line();

  // So that so many characters more have a place.
  void make_room(std::size_t more) {
    if (static_cast<std::size_t>(text_.data() + text_.size() - end_) < more)
      grow(more);
  }
  void grow(std::size_t more);

  std::function<void(std::string_view)> sink_;
  // The line that is being written is before `end_`.
  std::vector<char> text_ = std::vector<char>(256);
  char* end_ = text_.data();
  std::uint64_t lines_ = 0;
  std::uint64_t digest_ = caisson::detail::fnv1a_start;
};

} // namespace caisson::sim
