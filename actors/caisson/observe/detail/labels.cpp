#include <caisson/observe/detail/labels.hpp>

#include <caisson/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

bool is_control(char c) {
  auto x = static_cast<unsigned char>(c);
  return (x < 0x20 && c != '\n' && c != '\t') || x == 0x7f;
}

bool is_printable(char c) {
  return c >= 0x20 && c < 0x7f;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

} // namespace

std::string label_text(std::string_view text) {
  // As nearly all are.
  if (text.size() <= max_label_length
      && std::all_of(text.begin(), text.end(), is_printable))
    return std::string{text};
  std::string out;
  while (!text.empty()) {
    auto n = utf8_length(text);
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
  auto base = label_text(text);
  if (taken_.emplace(base, 1).second)
    return base;
  std::string label;
  do
    label = fmt::format("{}#{}", base, ++taken_[base]);
  while (!taken_.emplace(label, 1).second);
  return label;
}

} // namespace caisson::detail
