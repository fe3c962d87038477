// `caisson top`: the gates of a running program, live in a terminal.
#pragma once

#include <ctl/command.hpp>

#include <iosfwd>

namespace caisson::ctl {

/// Returns the exit status: 0 it was ended by a key or is done, 2 it could not
/// go on, 128 and the number of the signal that has ended it. `argv[0]` is
/// `top`.
int top_main(int argc, const char* const* argv, std::ostream& out,
             std::ostream& err, const ctl_parts& parts);

} // namespace caisson::ctl
