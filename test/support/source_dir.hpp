// Names files of the project, for tests that read them.
#pragma once

#include <filesystem>
#include <string_view>

namespace caisson::test {

/// The file or folder `path`, as seen from the root of the project.
[[nodiscard]] std::filesystem::path source_path(std::string_view path);

} // namespace caisson::test
