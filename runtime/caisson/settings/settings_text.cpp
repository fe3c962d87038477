#include <caisson/settings/settings_text.hpp>

#include <caisson/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace caisson::detail {

namespace {

template <class T>
std::string bounds(const range<T>& r, bool open_below, bool open_above,
                   std::string_view placeholder) {
  if (open_below && open_above)
    return std::string{placeholder};
  if (open_above)
    return fmt::format("at least {}", r.lo);
  if (open_below)
    return fmt::format("at most {}", r.hi);
  return fmt::format("{} to {}", r.lo, r.hi);
}

// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`, or
// `most` if there are at least so many.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= most)
    return most;
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  auto least = std::size_t{0};
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    auto least_before = std::exchange(least, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1,
                         last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    // Every row follows from the two before it.
    if (std::min(least, least_before) >= most)
      return most;
  }
  return std::min(row.back(), most);
}

// The code point of a sequence of two or three bytes.
unsigned code_point(std::string_view sequence) {
  auto out = static_cast<unsigned char>(sequence[0])
             & (sequence.size() == 2 ? 0x1fu : 0x0fu);
  for (char c : sequence.substr(1))
    out = out << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return out;
}

// What moves the cursor or turns the text around, written in more than a byte.
bool disturbs(std::string_view sequence) {
  if (sequence.size() == 4)
    return false;
  auto c = code_point(sequence);
  return (c >= 0x80 && c <= 0x9f)         // control characters
         || c == 0x200e || c == 0x200f    // marks of direction
         || (c >= 0x2028 && c <= 0x202e)  // line breaks, directions
         || (c >= 0x2066 && c <= 0x2069); // isolated directions
}

template <class Names>
std::string first_names(const Names& names) {
  auto shown = std::min(names.size(), most_listed_names);
  auto out = fmt::format(
    "{}", fmt::join(names.begin(),
                    names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size())
    out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

} // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto length = utf8_length(text);
    auto sequence = text.substr(0, std::max<std::size_t>(length, 1));
    auto first = static_cast<unsigned>(static_cast<unsigned char>(text[0]));
    if (length == 0 || first < 0x20 || first == 0x7f)
      out += fmt::format("\\x{:02x}", first);
    else if (length > 1 && disturbs(sequence))
      out += fmt::format("\\u{:04x}", code_point(sequence));
    else
      out += sequence;
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most)
    return std::string{text};
  // Not in the middle of a UTF-8 sequence.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
    --most;
  return std::string{text.substr(0, most)} + "…";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : shortened(text, longest_quoted)) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return printable(out) + '"';
}

std::string listed(std::span<const std::string_view> names) {
  return first_names(names);
}

std::string listed_names(const std::vector<std::string>& names) {
  return first_names(names);
}

std::string listed(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  items.reserve(texts.size());
  for (const auto& text : texts)
    items.push_back(detail::quoted(text));
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

std::string too_deep() {
  return fmt::format(
    "is nested too deeply (max {} levels of keys, tables and lists)",
    most_levels);
}

std::string too_long_key(std::size_t bytes) {
  return fmt::format("is a key of {} bytes, allowed: at most {}", bytes,
                     longest_key);
}

std::string key_excess(std::string_view key) {
  if (std::count(key.begin(), key.end(), '.')
      >= static_cast<std::ptrdiff_t>(most_levels))
    return too_deep();
  return key.size() > longest_key ? too_long_key(key.size()) : std::string{};
}

std::string_view nearest(std::string_view name,
                         const std::vector<std::string>& known) {
  std::string_view out;
  auto least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto& x : known)
    if (auto d = distance(name, x, least); d < least)
      least = d, out = x;
  return out;
}

std::string hint(std::string_view suggestion) {
  return suggestion.empty() ? ","
                            : fmt::format(", did you mean \"{}\"?", suggestion);
}

const settings* table_in(const setting& s, const setting_path& path,
                         problems& out) {
  auto table = std::get_if<settings>(&s.value);
  if (!table)
    out.push_back(
      {problem_kind::type, path, to_text(s) + " is not a table", s.place});
  return table;
}

const std::vector<setting>* list_in(const setting& s, const setting_path& path,
                                    std::string_view allowed, problems& out) {
  auto list = std::get_if<std::vector<setting>>(&s.value);
  if (!list)
    out.push_back(
      {problem_kind::type, path,
       fmt::format("{} is not a list, allowed: {}", to_text(s), allowed),
       s.place});
  return list;
}

std::string tables_at(const setting_path& path) {
  return fmt::format("a list of tables; in TOML each may begin with [[{}]]",
                     to_text(path));
}

void check_name(std::string_view name, std::string_view place,
                const setting_path& path, problems& out) {
  auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), in_name))
    out.push_back({problem_kind::range, path,
                   quoted(name)
                     + " is not a name, allowed: letters, digits, \"_\" and "
                       "\"-\"",
                   std::string{place}});
}

} // namespace caisson::detail
