#include <simulator/world/run_recorder.hpp>

#include <simulator/scenario/replicas.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace caisson::sim {

run_recorder::run_recorder(const world_plan& plan,
                           std::function<void(std::string_view)> log)
  : plan_(plan), log_(std::move(log)), warmup_(plan.arm.warmup),
    rows_(plan.arm.length), by_operation_(plan.operations.size()) {
  const auto& arm = plan.arm;
  load_totals_.resize(arm.loads.size());
  load_second_.resize(arm.loads.size());
  by_load_.resize(arm.loads.size() > 1 ? arm.loads.size() : 0);
  for (const auto& r : plan.routes) {
    edges_.push_back({.name = r.name, .zoned = r.zoned});
    auto& own = connections_.emplace_back();
    if (r.edge.connections.limited())
      own.emplace(arm.warmup, arm.length);
  }
  for (const auto& s : arm.services) {
    services_.push_back({service_recorder{s.name, all_servers(s), all_cores(s),
                                          arm.warmup, arm.length}});
    auto& own = replicas_.emplace_back();
    for (std::uint32_t i = 0; s.replicas > 1 && i < s.replicas; ++i)
      own.emplace_back(replica_name(s, i), s.servers, s.cores, arm.warmup,
                       arm.length);
  }
}

replica_recorder run_recorder::instance(std::size_t i) {
  auto [service, replica] = plan_.instances[i];
  auto& own = replicas_[service];
  return {services_[service], own.empty() ? nullptr : &own[replica],
          plan_.arm.services[service].servers};
}

void run_recorder::watch_level(std::size_t service,
                               std::optional<std::uint32_t> replica,
                               level::kind what, const level_watch::goal& goal,
                               duration now) {
  auto& at = replica ? replicas_[service].at(*replica) : services_[service].all;
  at.watch(what, goal, now);
}

std::uint64_t run_recorder::offered(time_point now, std::size_t load) {
  auto at = since_start(now);
  ++second_.offered;
  total_.offered += at >= warmup_;
  ++load_second_[load].offered;
  load_totals_[load].offered += at >= warmup_;
  ++open_;
  ++requests_;
  log_.line(at, "offer ", plan_.arm.loads[load].name, " #", requests_);
  if (details_)
    details_->request_begun(requests_, load, at);
  return requests_;
}

void run_recorder::attempted(time_point now, std::uint64_t n) {
  second_.attempts += n;
  if (since_start(now) >= warmup_)
    total_.attempts += n;
}

void run_recorder::answered(time_point now, const answer& x) {
  auto index = static_cast<std::size_t>(x.how);
  ++second_.by_ending[index];
  second_.substituted += x.substituted;
  auto& load = load_second_[x.load];
  ++(x.how == ending::good ? load.good : load.failed);
  if (since_start(x.begun) >= warmup_)
    for (auto* t : {&total_, &load_totals_[x.load]}) {
      ++t->by_ending[index];
      t->substituted += x.substituted;
    }
  if (x.how == ending::good)
    add_good(now, x);
  --open_;
  log_.line(since_start(now), "answer #", x.request, " ", name_of(x.how),
            x.substituted ? " substituted" : "");
  if (details_)
    details_->request_over(x.request, x.how, since_start(now));
}

void run_recorder::add_good(time_point now, const answer& x) {
  auto took = now - x.begun;
  row_latency_.add(took);
  // A client with a timeout decides itself what is in time.
  if (took <= verdict_window || x.waits != unlimited)
    add_prompt(since_start(x.begun), since_start(now) >= plan_.arm.length);
  if (since_start(x.begun) < warmup_)
    return;
  latency_.add(took);
  by_operation_[x.operation].add(took);
  if (!by_load_.empty())
    by_load_[x.load].add(took);
}

// Counts in the second in which the request began, which may be over.
void run_recorder::add_prompt(duration begun_at, bool in_drain) {
  auto index = static_cast<std::uint32_t>(begun_at / std::chrono::seconds{1});
  if (index < rows_.seconds())
    rows_.prompt(index, in_drain);
  else
    ++(in_drain ? second_.prompt_in_drain : second_.prompt);
}

void run_recorder::add_breaker(std::string gate, std::string layer) {
  breaker_index_.emplace(std::pair{gate, layer}, breaker_states_.size());
  breaker_states_.emplace_back("closed");
  result_.breakers.push_back(gate + "/" + layer);
}

void run_recorder::gate_event(const event& e) {
  auto at = since_start(time_point{duration{e.time_ns}});
  auto optional = [](std::string_view name, const std::string& text) {
    return text.empty()
             ? std::string{}
             : fmt::format(" {}=\"{}\"", name, detail::printable(text));
  };
  auto delay = e.delay == duration::zero() ? std::string{} : to_text(e.delay);
  log_.line(at, "gate \"", detail::printable(e.gate), "\"",
            optional("layer", e.layer), " ", name_of(e.kind),
            optional("from", e.from), optional("to", e.to),
            optional("detail", e.detail), optional("delay", delay));
  if (e.kind != event_kind::state_changed)
    return;
  auto found = breaker_index_.find({e.gate, e.layer});
  if (found == breaker_index_.end())
    return;
  breaker_states_[found->second] = e.to;
  if (details_)
    details_->breaker_changed(found->second, e.to, at);
}

request_counts run_recorder::counts_of(const tally& t) {
  request_counts c;
  c.offered = t.offered;
  c.attempts = t.attempts;
  c.substituted = t.substituted;
  c.good = t.by_ending[0];
  for (std::size_t i = 1; i < ending_count; ++i)
    if (t.by_ending[i] > 0) {
      c.failed += t.by_ending[i];
      c.errors.emplace(name_of(static_cast<ending>(i)), t.by_ending[i]);
    }
  return c;
}

void run_recorder::end_second(duration now) {
  result_row row;
  row.requests = counts_of(second_);
  row.prompt = second_.prompt;
  row.loads = load_second_;
  for (auto& s : services_)
    row.services.push_back(s.all.end_second(now));
  for (auto& c : connections_)
    if (c)
      row.connections.push_back(c->end_second());
  row.breakers = breaker_states_;
  row.second = rows_.seconds();
  if (on_second_)
    on_second_(row);
  auto complete = rows_.end_second(std::move(row),
                                   {second_.offered, second_.by_ending[0],
                                    second_.prompt, second_.prompt_in_drain});
  if (details_)
    details_->end_second();
  second_ = {};
  load_second_.assign(load_second_.size(), {});
  if (complete)
    end_row();
}

void run_recorder::end_row() {
  rows_.end_row(row_latency_.summary());
  row_latency_.clear();
  if (details_)
    details_->end_row();
}

void run_recorder::move_rows_to(arm_result& r, time_point end) {
  if (rows_.row_open())
    end_row();
  r.step = rows_.step();
  rows_.move_to(r);
  if (details_)
    r.details = std::make_shared<const run_details>(
      details_->take(since_start(end)));
}

// Whether a load asks for the operation, be it ever answered or not.
bool run_recorder::asked_for(std::size_t operation) const {
  for (const auto& load : plan_.targets)
    for (const auto& t : load)
      if (t.operation == operation)
        return true;
  return false;
}

load_summary run_recorder::load_result(std::size_t load) const {
  auto n = counts_of(load_totals_[load]);
  return {.name = plan_.arm.loads[load].name,
          .offered = n.offered,
          .good = n.good,
          .substituted = n.substituted,
          .failed = n.failed,
          .errors = std::move(n.errors),
          .latency = by_load_.empty() ? latency_.summary()
                                      : by_load_[load].summary()};
}

arm_result run_recorder::result(time_point end) {
  auto r = result_;
  r.totals = counts_of(total_);
  r.unanswered = r.totals.offered - r.totals.good - r.totals.failed;
  r.latency = latency_.summary();
  for (std::size_t i = 0; i < by_operation_.size(); ++i)
    if (asked_for(i))
      r.by_operation.emplace(plan_.operations[i].name,
                             by_operation_[i].summary());
  for (std::size_t i = 0; i < load_totals_.size(); ++i)
    r.loads.push_back(load_result(i));
  for (std::size_t i = 0; i < services_.size(); ++i) {
    r.services.push_back(services_[i].all.summary(since_start(end)));
    auto& all = r.services.back();
    for (auto& own : replicas_[i])
      all.replicas.push_back(own.summary(since_start(end)));
    auto zone_of = [&](std::uint32_t replica) {
      return std::string{plan_.zones.name(plan_.zones.of_replica(i, replica))};
    };
    if (all.replicas.empty())
      all.zone = zone_of(0);
    for (std::uint32_t k = 0; k < all.replicas.size(); ++k)
      all.replicas[k].zone = zone_of(k);
  }
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (!plan_.routes[i].is_recorded())
      continue;
    r.edges.push_back(edges_[i]);
    if (auto& own = connections_[i])
      r.edges.back().connections = own->summary(since_start(end));
  }
  r.counted_faults = faults_.times(since_start(end));
  r.events = log_.lines();
  r.digest = log_.digest();
  return r;
}

} // namespace caisson::sim
