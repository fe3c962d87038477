#include <sim/command/cli_parts.hpp>

#include <filesystem>
#include <system_error>
#include <vector>

namespace caisson::sim {

namespace {

bool same_file(const std::string& a, const std::string& b) {
  // Absolute, as of a file that does not exist `x` would stay another than
  // `./x`.
  namespace fs = std::filesystem;
  auto full = [](const std::string& path) {
    // What has no place in the file system, such as a pipe, is only itself.
    std::error_code ignored;
    auto found = fs::weakly_canonical(fs::absolute(path), ignored);
    return ignored ? fs::path{path} : found;
  };
  return full(a) == full(b);
}

} // namespace

void check_outputs(const std::string& file,
                   std::initializer_list<named_path> outputs) {
  std::vector<named_path> taken{{"FILE", file}};
  for (const auto& [name, path] : outputs) {
    if (path.empty())
      continue;
    for (const auto& [other, other_path] : taken)
      if (same_file(path, other_path))
        throw CLI::ValidationError{
          name, fmt::format("{} is the same file as that of {}", path, other)};
    taken.emplace_back(name, path);
  }
}

} // namespace caisson::sim
