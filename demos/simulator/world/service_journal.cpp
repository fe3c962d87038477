#include <simulator/world/service_journal.hpp>

#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/world/ending.hpp>

#include <fmt/format.h>

namespace caisson::sim {

service_journal::service_journal(const world_context& world,
                                 std::size_t instance)
  : plan_(*world.plan), run_(*world.recorder), instance_(instance),
    records_(run_.instance(instance)) {
  const auto& x = plan_.instances[instance];
  const auto& config = plan_.arm.services[x.service];
  name_ = replica_name(config, x.replica);
  if (config.replicas > 1)
    mark_ = fmt::format(" @{}", x.replica + 1);
}

// -- requests -----------------------------------------------------------------

void service_journal::note(time_point now, std::string_view what,
                           const job& j) {
  run_.log().line(at(now), what, " ", j.what->name, " #", j.request, mark_);
  auto* details = run_.details();
  if (details && what == "begin")
    details->begun(instance_, j.order, at(now));
  else if (details)
    details->left(instance_, j.order, what, at(now));
}

void service_journal::note(time_point now, std::string_view what,
                           const work& w) {
  run_.log().line(at(now), what, " ", plan_.operations[w.operation].name, " #",
                  w.request, mark_);
  auto* details = run_.details();
  if (details && what != "arrive")
    details->rejected(what, w, at(now));
}

void service_journal::entered(time_point now, const job& j, const work& w) {
  if (auto* details = run_.details())
    details->entered(instance_, j.order, w, at(now));
}

// -- calls that it makes ------------------------------------------------------

void service_journal::called(time_point now, const job& j, std::uint64_t key,
                             std::uint32_t route, const work& what) {
  if (auto* details = run_.details())
    details->called_for(instance_, j.order, key, route, what, at(now));
}

void service_journal::call_over(time_point now, std::uint64_t key,
                                std::uint32_t route, const outcome& ended) {
  if (auto* details = run_.details())
    details->call_over({false, instance_}, key, route, ending_of(ended),
                       at(now));
}

void service_journal::call_given_up(time_point now, std::uint64_t key) {
  if (auto* details = run_.details())
    details->call_given_up({false, instance_}, key, at(now));
}

// -- the replica itself -------------------------------------------------------

void service_journal::fault(time_point now, const fault_config& f,
                            bool begins) {
  run_.log().line(at(now), "fault ", name_, " ", fault_name(f.kind),
                  begins ? " begins" : " ends");
}

void service_journal::scaled(time_point now, std::uint32_t servers) {
  run_.log().line(at(now), "scale ", name_, " ", servers);
}

} // namespace caisson::sim
