#include <caisson/policies/canary/difference_text.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

namespace {

// Where the character begins in which byte number `at` is.
std::size_t start_of_character(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size()
         && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    --at;
  return at;
}

std::string text_from(std::string_view text, std::size_t first) {
  return (first > 0 ? "…" : "") + cut_text(text.substr(first));
}

} // namespace

std::string cut_text(std::string_view text) {
  return printable(shortened(text, longest_answer_text));
}

std::string difference_of_texts(std::string_view baseline,
                                std::string_view canary) {
  auto both = std::min(baseline.size(), canary.size());
  auto at = static_cast<std::size_t>(
    std::mismatch(baseline.begin(),
                  baseline.begin() + static_cast<std::ptrdiff_t>(both),
                  canary.begin())
      .first
    - baseline.begin());
  if (at == baseline.size() && at == canary.size())
    return fmt::format("the same text, {}", cut_text(baseline));
  // Both are the same up to there.
  auto first = start_of_character(
    baseline, at > text_before_difference ? at - text_before_difference : 0);
  return fmt::format("byte {}: baseline {}, canary {}", at,
                     text_from(baseline, first), text_from(canary, first));
}

} // namespace caisson::detail
