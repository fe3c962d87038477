// What can only be checked of a world as a whole.
#pragma once

namespace caisson::sim {

struct parse_context;

/// Reports what can only be known when all has been read: names that there are
/// not, circles of calls, and so on.
void check_world(parse_context& w);

} // namespace caisson::sim
