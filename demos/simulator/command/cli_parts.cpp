#include <simulator/command/cli_parts.hpp>

#include <simulator/play/output_file.hpp>

namespace caisson::sim {

namespace {

bool same_file(const std::string& a, const std::string& b) {
  return place_of_output(a) == place_of_output(b);
}

} // namespace

void check_outputs(const std::string& file,
                   const std::vector<named_path>& outputs) {
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
