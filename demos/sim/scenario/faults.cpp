#include <sim/scenario/faults.hpp>

#include <sim/scenario/fields.hpp>

#include <caisson/settings.hpp>

#include <algorithm>

namespace caisson::sim {

void describe(field_visitor& v, fault_config& c) {
  v.choice({.key = "kind",
            .help = "slow: work takes factor times as long; errors: a share of "
                    "rate fails; stall: nothing is begun; crash: all that is "
                    "inside is lost, and nobody gets in; capacity: only so "
                    "many workers; flush: the caches are emptied",
            .required = true},
           c.kind);
  v.on({.key = "target",
        .help = "the service",
        .allowed = "the name of a service",
        .required = true},
       c.target);
  v.on({"at", "when it begins; before length"}, c.at,
       {duration::zero(), longest_time});
  v.on({.key = "for",
        .help = "how long it lasts; not for flush, which takes no time",
        .required = true,
        .when = {"kind", {"slow", "errors", "stall", "crash", "capacity"}}},
       c.lasts, {shortest_time, longest_time});
  v.on({.key = "factor", .help = "slow only", .when = {"kind", {"slow"}}},
       c.factor, {1e-6, 1e6});
  v.on({.key = "rate",
        .help = "errors only: share of the requests",
        .when = {"kind", {"errors"}}},
       c.rate, {0.0, 1.0});
  v.integer<std::uint32_t>({.key = "workers",
                            .help = "capacity only",
                            .required = true,
                            .when = {"kind", {"capacity"}}},
                           c.workers, {0, 1'000'000});
}

std::optional<duration> recovery_start(const arm_config& arm) {
  if (arm.recovery_from || arm.faults.empty())
    return arm.recovery_from;
  auto last = duration::zero();
  for (const auto& f : arm.faults)
    last = std::max(last, plus(f.at, f.lasts));
  return last;
}

} // namespace caisson::sim
