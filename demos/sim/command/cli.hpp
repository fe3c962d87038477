// The `caisson` command.
#pragma once

#include <sim/command/run.hpp>
#include <sim/scenario/scenario.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// Exit statuses.
enum class status : int {
  good = 0,
  /// An expectation or a check failed.
  failed = 1,
  /// Bad input or bad usage.
  bad_input = 2,
  /// Anything that should not happen.
  internal_error = 3,
  /// By Ctrl-C or another signal, as shells count the former.
  interrupted = 130,
};

/// What the command works with, so that tests can give it something else.
struct command_parts {
  std::function<scenario(const std::filesystem::path&)> load = load_scenario;
  std::function<arm_result(const arm_config&, const run_options&)>
    play = run_arm;
  /// The run ends soon after this becomes true.
  const std::atomic<bool>* stop = nullptr;
  /// Whether `signal_watch` guards what is done while there are files to write.
  bool catch_signals = false;
  /// Whether a progress bar makes sense on the error stream.
  bool terminal = false;
  /// How wide that is.
  std::function<std::size_t()> columns = [] { return std::size_t{80}; };
  std::string version = "unknown";
};

/// Does what the arguments say and returns the exit status, `bad_input` if not
/// all of it could be written to `out`. Throws nothing.
int command_main(int argc, const char* const* argv, std::ostream& out,
                 std::ostream& err, const command_parts& parts = {});

/// What `caisson run` is asked for.
struct run_arguments {
  std::string file;
  /// All if empty.
  std::vector<std::string> arms;
  /// The file's if absent.
  std::optional<std::uint64_t> seed;
  std::uint32_t seeds = 1;
  /// Paths, `-` for standard output, empty for none.
  std::string json;
  std::string csv;
  std::string log;
  bool quiet = false;
  bool no_progress = false;
  bool no_speed = false;
  bool ascii = false;
};

/// Throws `config_error` for bad input.
[[nodiscard]] status run_command(const run_arguments& args, std::ostream& out,
                                 std::ostream& err, const command_parts& parts);

/// Looks at all files, whatever is wrong with one.
[[nodiscard]] status check_command(const std::vector<std::string>& files,
                                   std::ostream& out, std::ostream& err,
                                   const command_parts& parts);

/// Loads a scenario and looks at what it expects, too. Throws `config_error`.
[[nodiscard]] scenario load_checked(const std::string& file,
                                    const command_parts& parts);

} // namespace caisson::sim
