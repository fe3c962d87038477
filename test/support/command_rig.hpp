// The command, called by a test.
#pragma once

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace caisson::test {

/// Runs `caisson ARGS...`. What `out` and `err` had before is gone.
inline int run_command(const std::vector<std::string>& args,
                       std::ostringstream& out, std::ostringstream& err,
                       const sim::command_parts& parts) {
  std::vector<const char*> texts{"caisson"};
  for (const auto& arg : args)
    texts.push_back(arg.c_str());
  out.str("");
  err.str("");
  return sim::command_main(static_cast<int>(texts.size()), texts.data(), out,
                           err, parts);
}

} // namespace caisson::test
