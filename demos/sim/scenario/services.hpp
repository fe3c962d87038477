// Services, their operations and what these do.
#pragma once

namespace caisson::sim {

struct parse_context;

/// Reads the table `service`.
void read_services(parse_context& w);

} // namespace caisson::sim
