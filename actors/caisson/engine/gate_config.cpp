#include <caisson/engine/gate_config.hpp>

#include <caisson/settings/field.hpp>

#include <cstdint>
#include <limits>

namespace caisson {

void describe(field_visitor& v, gate_config& c) {
  using namespace std::chrono_literals;
  v.on({"name", "what the gate is called in errors, events and status"},
       c.name);
  v.on({"default_deadline", "the deadline of a call without one"},
       c.default_deadline, {1ms, unlimited});
  v.integer({"max_calls", "how many calls the gate holds at once; beyond that "
                          "they are refused with shed"},
            c.max_calls, {1, 16'000'000});
  v.integer({"seed", "seeds the gate's random source; 0: a seed of its own"},
            c.seed,
            {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()});
  v.on({"max_lease", "how long a permit may be held, with all its renewals, "
                     "counted from its grant"},
       c.max_lease, {1ms, unlimited});
  v.on({"emit_waits", "whether an event reports that a call begins to wait for "
                      "permits, tokens, a batch or the worker"},
       c.emit_waits);
}

} // namespace caisson
