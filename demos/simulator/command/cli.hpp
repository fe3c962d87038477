// The `caisson` command.
#pragma once

#include <simulator/play/command_parts.hpp>

#include <iosfwd>

namespace caisson::sim {

/// Does what the arguments say and returns the exit status, `bad_input` if not
/// all of it could be written to `out`. Throws nothing.
int command_main(int argc, const char* const* argv, std::ostream& out,
                 std::ostream& err, const command_parts& parts = {});

} // namespace caisson::sim
