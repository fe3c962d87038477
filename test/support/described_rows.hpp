// Files of gates whose workers are described, for tests of their kinds.
#pragma once

#include <caisson/settings/field_lister.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// A gate whose worker has all settings, each with its default.
inline std::string table_of(std::string_view kind,
                            const std::vector<field_row>& rows) {
  auto text = "[gates.a.worker]\nkind = '" + std::string{kind} + "'\n";
  for (const auto& row : rows)
    text += row.key + " = "
            + (row.type == "duration" ? '\'' + row.value + '\'' : row.value)
            + '\n';
  return text;
}

/// The lines between `# [name]` and `# [/name]` of a file.
inline std::string region_of(const std::filesystem::path& path,
                             const std::string& name) {
  std::ifstream in{path};
  std::string out;
  auto inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "# [" + name + "]" || line == "# [/" + name + "]")
      inside = !inside;
    else if (inside)
      out += line + '\n';
  }
  EXPECT_FALSE(out.empty()) << name;
  return out;
}

} // namespace caisson::test
