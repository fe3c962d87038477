// Texts of answers that differ, bounded in size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace caisson::detail {

/// How many bytes of an answer are shown.
inline constexpr std::size_t longest_answer_text = 200;

/// How many bytes are shown before the first that differs.
inline constexpr std::size_t text_before_difference = 40;

/// The text, cut to `longest_answer_text` bytes, but not within a character,
/// with control characters and bytes that are not UTF-8 escaped.
[[nodiscard]] std::string cut_text(std::string_view text);

/// Where the texts first differ, and both from a little before that on:
/// `byte 812: baseline …"b": 1}, canary …"b": 2}`. Bytes count from 0.
[[nodiscard]] std::string difference_of_texts(std::string_view baseline,
                                              std::string_view canary);

} // namespace caisson::detail
