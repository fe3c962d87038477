#include <simulator/command/result_files.hpp>

#include <filesystem>
#include <system_error>

namespace caisson::sim {

namespace {

void open_result(std::optional<output_file>& file, const std::string& path,
                 std::ostream& out) {
  if (!path.empty())
    file.emplace(path, out);
}

// Nobody looks beside a pipe or device for what is kept.
bool may_be_file(const std::string& path) {
  std::error_code ignored;
  auto found = std::filesystem::status(path, ignored);
  return !std::filesystem::exists(found)
         || std::filesystem::is_regular_file(found);
}

} // namespace

result_files::result_files(const result_paths& paths, std::ostream& out)
  : takes_stdout_(paths.json == "-" || paths.csv == "-" || paths.html == "-") {
  open_result(json_, paths.json, out);
  open_result(csv_, paths.csv, out);
  open_result(html_, paths.html, out);
}

void result_files::commit() {
  for (auto file : {&json_, &csv_, &html_})
    if (*file)
      (*file)->commit();
}

std::string state_directory(const std::string& chosen,
                            const result_paths& paths) {
  if (!chosen.empty())
    return chosen;
  for (const auto& path : {paths.json, paths.csv, paths.html})
    if (!path.empty() && path != "-" && may_be_file(path))
      return path + ".state";
  return {};
}

} // namespace caisson::sim
