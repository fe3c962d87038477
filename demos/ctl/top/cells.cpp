#include <ctl/top/cells.hpp>

#include <caisson/base/utf8.hpp>
#include <caisson/settings/settings_text.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace caisson::ctl {

namespace {

struct code_points {
  char32_t first;
  char32_t last;
};

// Those of two cells: East Asian scripts and pictures.
constexpr code_points wide[] = {
  {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},
  {0x23e9, 0x23ec},   {0x23f0, 0x23f0},   {0x23f3, 0x23f3},
  {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},
  {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
  {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
  {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},
  {0x26f2, 0x26f3},   {0x26f5, 0x26f5},   {0x26fa, 0x26fa},
  {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},
  {0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},
  {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
  {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},
  {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x2e80, 0x303e},
  {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
  {0xffe0, 0xffe6},   {0x16fe0, 0x18d08}, {0x1b000, 0x1b2fb},
  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
  {0x1f90c, 0x1faff}, {0x20000, 0x3fffd}};

// Those whose width depends on the characters around them, or on the terminal:
// marks on other characters, joiners and selectors, private ones.
constexpr code_points without_width[] = {
  {0xad, 0xad},       {0x300, 0x36f},     {0x483, 0x489},   {0x591, 0x5bd},
  {0x5bf, 0x5c7},     {0x600, 0x605},     {0x610, 0x61a},   {0x64b, 0x65f},
  {0x670, 0x670},     {0x6d6, 0x6ed},     {0x70f, 0x74a},   {0x7a6, 0x903},
  {0x93a, 0x94f},     {0x951, 0x957},     {0x962, 0x963},   {0x981, 0x983},
  {0x9bc, 0x9d7},     {0xa01, 0xa03},     {0xa3c, 0xa51},   {0xabc, 0xad0},
  {0xb3c, 0xb57},     {0xbbe, 0xbd7},     {0xc3c, 0xc56},   {0xcbc, 0xcd6},
  {0xd3b, 0xd57},     {0xdca, 0xddf},     {0xe31, 0xe31},   {0xe34, 0xe3a},
  {0xe47, 0xe4e},     {0xeb1, 0xebc},     {0xec8, 0xecd},   {0xf18, 0xf3f},
  {0xf71, 0xfbc},     {0x102b, 0x103e},   {0x1160, 0x11ff}, {0x135d, 0x135f},
  {0x1712, 0x1734},   {0x17b4, 0x17d3},   {0x180b, 0x180f}, {0x1a17, 0x1a1b},
  {0x1a55, 0x1aff},   {0x1b00, 0x1b44},   {0x1dc0, 0x1dff}, {0x200b, 0x200f},
  {0x2028, 0x202e},   {0x2060, 0x206f},   {0x20d0, 0x20f0}, {0x2cef, 0x2cf1},
  {0x302a, 0x302f},   {0x3099, 0x309a},   {0xa66f, 0xa69f}, {0xa8e0, 0xa8f1},
  {0xd7b0, 0xd7ff},   {0xe000, 0xf8ff},   {0xfb1e, 0xfb1e}, {0xfe00, 0xfe0f},
  {0xfe20, 0xfe2f},   {0xfeff, 0xfeff},   {0xfff0, 0xffff}, {0x1f1e6, 0x1f1ff},
  {0x1f3fb, 0x1f3ff}, {0x3fffe, 0x10ffff}};

template <std::size_t N>
bool is_among(const code_points (&ranges)[N], char32_t c) noexcept {
  auto i = std::ranges::lower_bound(ranges, c, {}, &code_points::last);
  return i != std::end(ranges) && c >= i->first;
}

// Of a sequence that is valid.
char32_t code_point_of(std::string_view sequence) noexcept {
  auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1)
    return first;
  auto out = static_cast<char32_t>(first & (0xffu >> (sequence.size() + 1)));
  for (char c : sequence.substr(1))
    out = out << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return out;
}

// The character that the text, which is not empty, begins with.
std::string_view first_of(std::string_view text) noexcept {
  return text.substr(0, std::max<std::size_t>(1, detail::utf8_length(text)));
}

std::size_t cells_of(std::string_view character) noexcept {
  return is_among(wide, code_point_of(character)) ? 2 : 1;
}

// As much of it as fits.
std::string_view head_of(std::string_view text, std::size_t width) noexcept {
  std::size_t bytes = 0;
  std::size_t cells = 0;
  while (bytes < text.size()) {
    auto c = first_of(text.substr(bytes));
    cells += cells_of(c);
    if (cells > width)
      break;
    bytes += c.size();
  }
  return text.substr(0, bytes);
}

std::string_view sequence_of(paint how, bool colors) {
  switch (how) {
    case paint::dim:
      return "\x1b[2m";
    case paint::bold:
      return "\x1b[1m";
    case paint::good:
      return colors ? "\x1b[32m" : "";
    case paint::strained:
      return colors ? "\x1b[33m" : "";
    case paint::bad:
      return colors ? "\x1b[1;31m" : "\x1b[1m";
    case paint::plain:
      break;
  }
  return "";
}

} // namespace

std::string harmless(std::string_view text, bool utf8) {
  text = text.substr(0, most_text_bytes);
  // Of the last character there may be only a part.
  for (std::size_t cut = 0; text.size() == most_text_bytes && cut < 4; ++cut) {
    auto end = text.size() - cut - 1;
    auto byte = static_cast<unsigned char>(text[end]);
    if (byte < 0x80 || byte >= 0xc0) {
      if (byte >= 0xc0 && detail::utf8_length(text.substr(end)) == 0)
        text = text.substr(0, end);
      break;
    }
  }
  auto clean = detail::printable(text);
  std::string out;
  for (std::string_view rest = clean; !rest.empty();) {
    auto c = first_of(rest);
    rest.remove_prefix(c.size());
    auto shown = c.size() == 1
                 || (utf8 && !is_among(without_width, code_point_of(c)));
    out += shown ? c : "?";
  }
  return out;
}

std::size_t width_of(std::string_view text) noexcept {
  std::size_t out = 0;
  while (!text.empty()) {
    auto c = first_of(text);
    out += cells_of(c);
    text.remove_prefix(c.size());
  }
  return out;
}

std::string fitted(const std::string& text, std::size_t width, bool utf8,
                   side at) {
  auto has = width_of(text);
  auto out = text;
  if (has > width) {
    if (width == 0)
      return {};
    out = std::string{head_of(text, width - 1)};
    out += utf8 ? "…" : "~";
    has = width_of(out);
  }
  auto blanks = std::string(width - has, ' ');
  return at == side::left ? out + blanks : blanks + out;
}

std::vector<std::string> bars_of(std::span<const std::optional<double>> values,
                                 bool utf8) {
  static constexpr const char* blocks[] = {"▁", "▂", "▃", "▄",
                                           "▅", "▆", "▇", "█"};
  static constexpr const char* signs[] = {"_", ".", ":", "-",
                                          "=", "+", "*", "#"};
  constexpr auto most_drawn = 1e300;
  auto greatest = 0.0;
  for (const auto& x : values)
    if (x && *x > greatest && *x <= most_drawn)
      greatest = *x;
  std::vector<std::string> out;
  out.reserve(values.size());
  for (const auto& x : values) {
    // No bar for what is no number.
    if (!x || !(*x <= most_drawn)) {
      out.emplace_back(" ");
      continue;
    }
    // The lowest is for nothing at all.
    std::size_t height = 0;
    if (*x > 0)
      height = 1 + static_cast<std::size_t>(std::lround(*x / greatest * 6));
    out.emplace_back((utf8 ? blocks : signs)[height]);
  }
  return out;
}

void text_line::add(std::string text, paint how) {
  if (text.empty())
    return;
  width_ += width_of(text);
  if (!parts_.empty() && parts_.back().how == how)
    parts_.back().text += text;
  else
    parts_.push_back({std::move(text), how});
}

void text_line::set_width(std::size_t columns, bool utf8) {
  while (width_ > columns && !parts_.empty()) {
    auto& last = parts_.back();
    auto own = width_of(last.text);
    auto before = width_ - own;
    if (before < columns || parts_.size() == 1) {
      last.text = fitted(last.text, columns - std::min(before, columns), utf8);
      width_ = before + width_of(last.text);
      if (last.text.empty())
        parts_.pop_back();
      break;
    }
    width_ = before;
    parts_.pop_back();
  }
  if (width_ < columns)
    add(std::string(columns - width_, ' '));
}

std::string text_line::text() const {
  std::string out;
  for (const auto& x : parts_)
    out += x.text;
  return out;
}

std::string text_line::drawn(bool colors) const {
  if (selected_)
    return "\x1b[7m" + text() + "\x1b[m";
  std::string out;
  for (const auto& x : parts_) {
    auto begin = sequence_of(x.how, colors);
    out += begin;
    out += x.text;
    if (!begin.empty())
      out += "\x1b[m";
  }
  return out;
}

} // namespace caisson::ctl
