// Parts that the subcommands share.
#pragma once

#include <simulator/play/run.hpp>
#include <simulator/scenario/scenario.hpp>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

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
  /// How many arms are run at a time.
  std::size_t jobs = 1;
  /// The run ends soon after this becomes true.
  const std::atomic<bool>* stop = nullptr;
  /// Whether `signal_watch` guards what is done while there are files to write.
  bool catch_signals = false;
  /// Whether a progress bar makes sense on the error stream.
  bool terminal = false;
  /// How wide that is.
  std::function<std::size_t()> columns = [] { return std::size_t{80}; };
  /// How wide the standard output is; 0 for no limit.
  std::function<std::size_t()> out_columns = [] { return std::size_t{0}; };
  std::string version = "unknown";
  /// `caisson ctl` and `caisson top`, which have that name in `argv[0]` and
  /// return an exit status; null: they are not built.
  std::function<int(int argc, const char* const* argv, std::ostream& out,
                    std::ostream& err)>
    ctl;
};

} // namespace caisson::sim
