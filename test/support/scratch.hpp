// A directory for one test's files. ctest runs tests side by side as processes
// of one program, so a fixed name in the temporary directory would be shared.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace caisson::test {

/// A new and empty directory, removed with all that is in it at the end.
class scratch_dir {
public:
  scratch_dir() {
    auto name = (std::filesystem::temp_directory_path() / "caisson-XXXXXX")
                  .string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("cannot make a directory such as " + name);
    path_ = name;
  }

  ~scratch_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  scratch_dir(const scratch_dir&) = delete;
  scratch_dir& operator=(const scratch_dir&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  /// The path of a file in it, which need not exist.
  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

  /// Writes a file and returns its path.
  std::filesystem::path write(const std::string& name,
                              const std::string& text) const {
    std::ofstream{path_ / name} << text;
    return path_ / name;
  }

private:
  std::filesystem::path path_;
};

/// What is in a file.
inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace caisson::test
