#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

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

// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1,
                         last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
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

std::string hint(std::string_view name, const std::vector<std::string>& known) {
  std::string_view nearest;
  auto least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto& x : known)
    if (auto d = distance(name, x); d < least)
      least = d, nearest = x;
  return nearest.empty() ? "," : fmt::format(", did you mean \"{}\"?", nearest);
}

const settings* table_in(const setting& s, const std::string& path,
                         problems& out) {
  auto table = std::get_if<settings>(&s.value);
  if (!table)
    out.push_back({s.place, path, to_text(s) + " is not a table"});
  return table;
}

std::string item(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

} // namespace caisson::detail
