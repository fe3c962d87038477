#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace caisson::detail {

namespace {

template <class T>
std::string bounds(const range<T>& r, bool open_below, bool open_above,
                   std::string_view anything) {
  if (open_below && open_above)
    return std::string{anything};
  if (open_above)
    return fmt::format("at least {}", r.lo);
  if (open_below)
    return fmt::format("at most {}", r.hi);
  return fmt::format("{} to {}", r.lo, r.hi);
}

} // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 80;
  auto shown = std::min(text.size(), longest);
  // Not in the middle of a UTF-8 sequence.
  while (shown < text.size() && shown > 0
         && (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80)
    --shown;
  std::string out = "\"";
  for (char c : text.substr(0, shown)) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  out += shown < text.size() ? "…\"" : "\"";
  return out;
}

std::string listed(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string listed(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const auto& text : texts)
    items.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string allowed(const range<std::int64_t>& r) {
  using limits = std::numeric_limits<std::int64_t>;
  return bounds(r, r.lo == limits::min(), r.hi == limits::max(), "any integer");
}

std::string allowed(const range<double>& r) {
  using limits = std::numeric_limits<double>;
  return bounds(r, r.lo <= limits::lowest(), r.hi >= limits::max(),
                "any finite number");
}

std::string allowed(const range<duration>& r) {
  return fmt::format("{} to {}", to_text(r.lo), to_text(r.hi));
}

std::string not_finite(std::string_view value, const range<double>& r) {
  return fmt::format("{} is not a finite number, allowed: {}", value,
                     allowed(r));
}

std::string not_one_of(std::string_view value,
                       std::span<const std::string_view> names) {
  return fmt::format("{} is not one of: {}", value, listed(names));
}

} // namespace caisson::detail
