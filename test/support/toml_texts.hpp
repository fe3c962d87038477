// TOML for tests of what reads it.
#pragma once

#include <caisson/settings/toml.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace caisson::test {

/// The document `text`, called `f`, which must be TOML.
inline settings parsed(std::string_view text) {
  problems found;
  auto root = parse_toml(text, "f", found);
  EXPECT_EQ(to_text(found), "");
  return root;
}

inline std::string repeated(std::string_view text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i)
    out += text;
  return out;
}

/// What is said of tables and keys within too many others.
inline constexpr std::string_view too_deep
  = "is nested too deeply (max 64 levels of keys, tables and lists)";

} // namespace caisson::test
