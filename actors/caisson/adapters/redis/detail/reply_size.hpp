// Estimates the size of a Redis reply from the part that has come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::detail {

/// Reads lengths and nothing else, of RESP2 and RESP3. A few bytes can announce
/// a reply of any size, for which hiredis makes room at once.
class redis_reply_size {
public:
  /// Takes in what comes next. What follows the reply is left alone.
  void add(std::string_view bytes);

  /// Whether the reply is here as a whole.
  [[nodiscard]] bool is_done() const noexcept {
    return elements_ == 0 && text_ == 0 && type_ == '\0';
  }

  /// Whether all lengths are numbers.
  [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }

  /// How many bytes it has at least: what is here, and what was announced.
  [[nodiscard]] std::int64_t at_least() const noexcept;

private:
  void take(char c);
  void end_line();

  std::int64_t received_ = 0;
  /// How many are still to come, in whatever depth.
  std::int64_t elements_ = 1;
  /// How many bytes of a text are still to come, with its end.
  std::int64_t text_ = 0;
  /// That of the element whose first line is read; zero: none.
  char type_ = '\0';
  char last_ = '\0';
  std::string length_;
  bool is_valid_ = true;
};

} // namespace caisson::detail
