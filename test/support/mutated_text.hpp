// Texts that were right, changed at random.
#pragma once

#include <caisson/base/random.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace caisson::test {

namespace internal {

// What means something in TOML, in settings, or to a reader of numbers.
inline constexpr std::string_view pieces_of_toml[] = {
  "\"",
  "'",
  "[",
  "]",
  "[[",
  "]]",
  "{",
  "}",
  "=",
  ",",
  ".",
  "..",
  "#",
  "\n",
  "\\",
  "\x01",
  "\xff",
  "\xc3\xa9",
  "-1",
  "0",
  "1",
  "1e308",
  "nan",
  "inf",
  "0x7fff",
  "true",
  "[]",
  "{}",
  "\"\"",
  "unlimited",
  "\"1h\"",
  "\"0s\"",
  "\"-1s\"",
  "\"99999999999h\"",
  "18446744073709551616",
  "9223372036854775807",
  "-9223372036854775808",
  "0.0000001",
  "2026-01-01",
  "kind = ",
  "[a.b.c]\n",
  "a = 1\n",
  "class:fail",
  "ms",
  "%",
  "a.b",
};

// From `at` on: as far as the same sort of characters goes.
inline std::size_t end_of_word(std::string_view text, std::size_t at) {
  auto is_word = [](char c) {
    return c == '_' || c == '.' || (c >= '0' && c <= '9')
           || ((c | 32) >= 'a' && (c | 32) <= 'z');
  };
  auto end = at;
  while (end < text.size() && is_word(text[end]))
    ++end;
  return std::max(end, std::min(at + 1, text.size()));
}

} // namespace internal

/// Changes one to four places of the text: parts are taken out, put in, doubled
/// or swapped, and words and numbers are replaced by others.
inline std::string mutated(std::string text, random_source& random) {
  using internal::end_of_word;
  constexpr auto n = std::size(internal::pieces_of_toml);
  auto piece = [&] { return internal::pieces_of_toml[random.below(n)]; };
  for (auto i = 1 + random.below(4); i > 0 && !text.empty(); --i) {
    auto at = random.below(text.size());
    auto word = end_of_word(text, at) - at;
    auto other = random.below(text.size());
    auto other_word = text.substr(other, end_of_word(text, other) - other);
    auto line = text.find('\n', at);
    switch (random.below(7)) {
      case 0:
        text.erase(at, 1 + random.below(8));
        break;
      case 1:
        text.insert(at, piece());
        break;
      case 2:
        text.replace(at, word, piece());
        break;
      case 3:
        text.replace(at, word, other_word);
        break;
      case 4:
        text.insert(other, text.substr(at, 1 + random.below(80)));
        break;
      case 5: // A line less.
        if (line != text.npos)
          text.erase(line, text.find('\n', line + 1) - line);
        break;
      default:
        text[at] = static_cast<char>(random.below(256));
    }
  }
  return text;
}

} // namespace caisson::test
