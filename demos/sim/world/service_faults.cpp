// What can happen to a service.
#include <sim/world/service.hpp>

#include <sim/world/purpose.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

// Timers of faults; all others name a request.
constexpr std::uint64_t begin_bit = std::uint64_t{1} << 62;
constexpr std::uint64_t end_bit = std::uint64_t{1} << 61;
constexpr std::uint64_t fault_bits = begin_bit | end_bit;

std::string_view name_of(fault_kind k) {
  constexpr std::string_view names[] = {"slow",  "errors",   "stall",
                                        "crash", "capacity", "flush"};
  return names[static_cast<std::size_t>(k)];
}

} // namespace

// Set before any other timer, so that a fault is the first thing to happen at
// its instant.
void service::plan_faults() {
  for (const auto& f : world_.plan->arm.faults) {
    if (f.target != config_.name)
      continue;
    auto i = faults_.size();
    faults_.push_back(&f);
    timer().push(after(begin_, f.at), begin_bit | i);
    if (f.kind != fault_kind::flush)
      timer().push(after(begin_, plus(f.at, f.lasts)), end_bit | i);
  }
}

void service::fire(std::uint64_t payload) {
  if ((payload & begin_bit) != 0)
    fault_begins(*faults_[payload & ~fault_bits]);
  else if ((payload & end_bit) != 0)
    fault_ends(*faults_[payload & ~fault_bits]);
  else if (auto* j = jobs_.find(payload))
    work_done(payload, *j);
  serve_next();
}

void service::fault_begins(const fault_config& f) {
  world_.record->log().line(at(), "fault {} {} begins", config_.name,
                            name_of(f.kind));
  switch (f.kind) {
    case fault_kind::slow:
    case fault_kind::errors:
    case fault_kind::capacity:
      active_.push_back(&f);
      return conditions_changed();
    case fault_kind::stall:
      return stall();
    case fault_kind::crash:
      return crash();
    case fault_kind::flush:
      return empty_caches();
  }
}

void service::fault_ends(const fault_config& f) {
  world_.record->log().line(at(), "fault {} {} ends", config_.name,
                            name_of(f.kind));
  switch (f.kind) {
    case fault_kind::slow:
    case fault_kind::errors:
    case fault_kind::capacity:
      std::erase(active_, &f);
      return conditions_changed();
    case fault_kind::stall:
      return go_on();
    case fault_kind::crash:
      --crashes_;
      return;
    case fault_kind::flush:
      return; // It takes no time.
  }
}

// Faults of a kind that overlap: slow ones multiply, error rates add up as
// independent chances do, the smallest capacity counts.
void service::conditions_changed() {
  factor_ = 1;
  double good = 1;
  capacity_ = config_.workers;
  for (const auto* f : active_) {
    if (f->kind == fault_kind::slow)
      factor_ *= f->factor;
    else if (f->kind == fault_kind::errors)
      good *= 1 - f->rate;
    else
      capacity_ = std::min(capacity_, f->workers);
  }
  error_rate_ = 1 - good;
}

// Work under way is finished. Nothing else is taken up: `worker_free` is false,
// answers to calls wait in `deferred_`.
void service::stall() {
  ++stalls_;
}

void service::go_on() {
  if (--stalls_ > 0)
    return;
  for (auto& [key, content] : std::exchange(deferred_, {}))
    handle_answer(key, std::move(content));
}

void service::crash() {
  ++crashes_;
  for (auto key : jobs_.keys()) {
    auto& j = *jobs_.find(key);
    record().lost(at());
    world_.record->log().line(at(), "lose {} #{}", j.what->name, j.request);
    leave(key, j,
          caf::make_message(make_error(errc::worker_down,
                                       rejection{config_.name, {}, true, {}})));
  }
  deferred_.clear();
  empty_caches();
}

// -- caches -------------------------------------------------------------------

// They are warm when the world begins: every key is there, and keys with a time
// to live are of every age.
void service::fill_caches() {
  auto key = world_.key.with("cache").with(config_.name);
  for (const auto& c : world_.plan->caches[index_]) {
    auto& keys = caches_.emplace_back(c.keys, never);
    if (c.ttl == unlimited)
      continue;
    keyed_random random{key.with(caches_.size())};
    for (auto& x : keys)
      x = after(begin_, scaled(c.ttl, random.uniform()));
  }
}

void service::empty_caches() {
  for (auto& c : caches_)
    std::fill(c.begin(), c.end(), time_point::min());
}

bool service::cached(const planned_call& c, std::uint32_t key) const {
  return caches_[c.cache][key] > now();
}

} // namespace caisson::sim
