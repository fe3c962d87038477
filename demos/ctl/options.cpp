#include <ctl/options.hpp>

#include <ctl/connection.hpp>

#include <caisson/observe/control/longest_time.hpp>
#include <caisson/settings/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <string_view>

namespace caisson::ctl {

void add_control_file(CLI::App& to, std::string& file) {
  to.add_option("--file", file,
                "The control file of the program (default: the\n"
                "environment variable CAISSON_CONTROL)")
    ->type_name("FILE");
}

std::string control_file_of(const std::string& option) {
  if (!option.empty())
    return option;
  auto* x = std::getenv("CAISSON_CONTROL");
  if (!x || *x == 0)
    throw ctl_error{"which program? Give its control file with --file, or in "
                    "the environment variable CAISSON_CONTROL"};
  return x;
}

duration time_in(const std::string& option, const std::string& text,
                 duration least, duration most) {
  auto out = parse_duration(text);
  if (!out || *out < least || *out > most)
    throw CLI::ValidationError{option,
                               fmt::format("{} is not a time from {} to {}",
                                           detail::quoted(text), to_text(least),
                                           detail::longest_time(most))};
  return *out;
}

int guarded_command(const char* name, std::ostream& out, std::ostream& err,
                    const std::function<int()>& run) {
  try {
    return run();
  } catch (const nlohmann::json::exception&) {
    err << name
        << ": the program's answer is not that of a program of this version\n";
    return 2;
  } catch (const std::exception& e) {
    out << std::flush;
    // Line by line, as there may be several problems.
    std::string_view text = e.what();
    while (!text.empty()) {
      auto end = std::min(text.find('\n'), text.size());
      err << name << ": " << detail::printable(text.substr(0, end)) << '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return 2;
  }
}

} // namespace caisson::ctl
