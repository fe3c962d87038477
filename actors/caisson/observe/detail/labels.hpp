// Texts that are fit to be values of labels.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace caisson::detail {

/// Longer texts are cut.
inline constexpr std::size_t max_label_length = 256;

/// `text` as valid UTF-8 of at most `max_label_length` bytes. Invalid bytes,
/// and control characters other than line breaks and tabs, become U+FFFD:
/// Prometheus rejects a whole scrape because of one such text.
[[nodiscard]] std::string label_text(std::string_view text);

/// A name for a metric: a letter, then letters, digits and underscores; other
/// characters become an underscore.
[[nodiscard]] std::string metric_name(std::string_view text);

/// Different texts may be the same as labels, which would make one series
/// appear twice: further ones get a number.
class unique_labels {
public:
  [[nodiscard]] std::string add(std::string_view text);

private:
  /// Which are given, and how often they were wanted.
  std::unordered_map<std::string, std::size_t> taken_;
};

} // namespace caisson::detail
