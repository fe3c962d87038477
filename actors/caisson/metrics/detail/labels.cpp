#include <caisson/metrics/detail/labels.hpp>

#include <fmt/format.h>

namespace caisson::detail {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The length of the character at the beginning, 0 if it is not valid: RFC 3629.
std::size_t character_length(std::string_view s) {
  auto first = static_cast<unsigned char>(s[0]);
  if (first < 0x80)
    return 1;
  std::size_t n = first >= 0xc2 && first <= 0xdf   ? 2
                  : first >= 0xe0 && first <= 0xef ? 3
                  : first >= 0xf0 && first <= 0xf4 ? 4
                                                   : 0;
  if (n == 0 || s.size() < n)
    return 0;
  for (std::size_t i = 1; i < n; ++i)
    if (!is_continuation(s[i]))
      return 0;
  auto second = static_cast<unsigned char>(s[1]);
  auto overlong = (first == 0xe0 && second < 0xa0)
                  || (first == 0xf0 && second < 0x90);
  auto surrogate = first == 0xed && second > 0x9f;
  auto too_high = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_high ? 0 : n;
}

bool is_control(char c) {
  auto x = static_cast<unsigned char>(c);
  return (x < 0x20 && c != '\n' && c != '\t') || x == 0x7f;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

} // namespace

std::string label_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto n = character_length(text);
    auto next = n == 0 || (n == 1 && is_control(text[0])) ? replacement
                                                          : text.substr(0, n);
    if (out.size() + next.size() > max_label_length)
      break;
    out += next;
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string metric_name(std::string_view text) {
  std::string out;
  for (auto c : text)
    out += is_letter(c) || (c >= '0' && c <= '9' && !out.empty()) ? c : '_';
  return out.empty() ? "_" : out;
}

std::string unique_labels::add(std::string_view text) {
  auto wanted = label_text(text);
  auto label = wanted;
  while (taken_.contains(label))
    label = fmt::format("{}#{}", wanted, ++taken_[wanted]);
  taken_.emplace(label, 1);
  return label;
}

} // namespace caisson::detail
