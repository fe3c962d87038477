// What is expected of a run.
#pragma once

namespace caisson::sim {

struct parse_context;

/// Reads the table `expect`.
void read_expect(parse_context& w);

} // namespace caisson::sim
