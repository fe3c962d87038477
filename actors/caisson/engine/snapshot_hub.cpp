#include <caisson/engine/snapshot_hub.hpp>

#include <caisson/base/system_number.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>

#include <unordered_map>

namespace caisson::detail {

namespace {

struct hub_table {
  std::mutex mutex;
  // By the numbers of their systems.
  std::unordered_map<std::uint64_t, std::weak_ptr<snapshot_hub>> hubs;
};

// Never destroyed: gates of a system with static storage may end after it.
hub_table& all_hubs() {
  static auto& x = *new hub_table;
  return x;
}

} // namespace

// -- a gate's place -----------------------------------------------------------

snapshot_slot::snapshot_slot(std::shared_ptr<snapshot_hub> hub,
                             std::string name, std::uint32_t number,
                             caf::weak_actor_ptr gate, bool resident,
                             refresher refresh)
  : hub_(std::move(hub)), name_(std::move(name)), number_(number),
    gate_(std::move(gate)), resident_(resident), refresh_(std::move(refresh)) {}

snapshot_slot::~snapshot_slot() {
  hub_->leave(*this);
}

void snapshot_slot::publish(std::shared_ptr<const gate_snapshot> x) {
  // The old one is destroyed after the lock is released.
  std::lock_guard lock{mutex_};
  // The last watch may have ended meanwhile: it is over before it clears the
  // slots, so that nothing is left for a later one to take for recent.
  if (has_readers())
    last_.swap(x);
}

void snapshot_slot::clear() {
  std::shared_ptr<const gate_snapshot> old;
  std::lock_guard lock{mutex_};
  last_.swap(old);
}

std::shared_ptr<const gate_snapshot> snapshot_slot::last() const {
  std::lock_guard lock{mutex_};
  return last_;
}

// -- the hub ------------------------------------------------------------------

std::shared_ptr<snapshot_hub> snapshot_hub::of(caf::actor_system& sys) {
  auto system = number_of(sys);
  auto& all = all_hubs();
  std::lock_guard lock{all.mutex};
  auto& known = all.hubs[system];
  auto x = known.lock();
  if (!x)
    known = x = std::make_shared<snapshot_hub>(system);
  return x;
}

snapshot_hub::~snapshot_hub() {
  auto& all = all_hubs();
  std::lock_guard lock{all.mutex};
  // Another thread may have created one since.
  if (auto i = all.hubs.find(system_);
      i != all.hubs.end() && i->second.expired())
    all.hubs.erase(i);
}

std::unique_ptr<snapshot_slot>
snapshot_hub::join(const std::string& name, caf::weak_actor_ptr gate,
                   bool resident, snapshot_slot::refresher refresh) {
  std::lock_guard lock{mutex_};
  auto& x = names_[name];
  auto number = x.free.empty() ? ++x.highest
                               : x.free.extract(x.free.begin()).value();
  auto slot = std::make_unique<snapshot_slot>(shared_from_this(), name, number,
                                              std::move(gate), resident,
                                              std::move(refresh));
  slots_.emplace(std::pair{name, number}, slot.get());
  return slot;
}

void snapshot_hub::set_leaving(const caf::actor& gate) {
  const caf::weak_actor_ptr address{
    caf::actor_cast<caf::actor_control_block*>(gate)};
  std::lock_guard lock{mutex_};
  for (const auto& [_, x] : slots_)
    if (x->gate_ == address)
      x->leaving_ = true;
}

void snapshot_hub::leave(const snapshot_slot& x) {
  std::lock_guard lock{mutex_};
  slots_.erase({x.name_, x.number_});
  auto i = names_.find(x.name_);
  auto& taken = i->second;
  taken.free.insert(x.number_);
  if (taken.free.size() == taken.highest)
    names_.erase(i);
}

void snapshot_hub::add_watch(const gate_watch_config& c) {
  std::vector<std::pair<caf::weak_actor_ptr, bool>> gates;
  {
    std::lock_guard lock{mutex_};
    intervals_.insert(c.every);
    watch_keys_.insert(c.keys);
    apply_watches();
    watches_.fetch_add(1, std::memory_order_release);
    for (const auto& [_, x] : slots_)
      gates.emplace_back(x->gate_, x->resident_);
  }
  // A gate looks whether it is watched when something happens to it. This has
  // no other effect: no sender has such a request, and nothing is due earlier.
  for (const auto& [x, resident] : gates) {
    auto gate = caf::actor_cast<caf::actor>(x);
    if (gate && resident)
      portable::resident::wake(gate);
    else if (gate)
      portable::send_anon(gate, cancelled{});
  }
}

void snapshot_hub::remove_watch(const gate_watch_config& c) {
  std::lock_guard lock{mutex_};
  intervals_.erase(intervals_.find(c.every));
  watch_keys_.erase(watch_keys_.find(c.keys));
  apply_watches();
  if (intervals_.empty())
    for (const auto& [_, x] : slots_)
      x->clear();
}

void snapshot_hub::apply_watches() {
  interval_ = intervals_.empty() ? 0 : intervals_.begin()->count();
  keys_ = watch_keys_.empty() ? 0 : *watch_keys_.rbegin();
}

std::vector<watched_gate> snapshot_hub::list() const {
  // A gate that is refreshed may fail, and leave.
  std::vector<snapshot_slot::refresher> refreshers;
  {
    std::lock_guard lock{mutex_};
    for (const auto& [_, x] : slots_)
      if (x->refresh_)
        refreshers.push_back(x->refresh_);
  }
  for (const auto& refresh : refreshers)
    refresh();
  std::vector<watched_gate> out;
  std::lock_guard lock{mutex_};
  out.reserve(slots_.size());
  for (const auto& [name, x] : slots_)
    if (auto last = x->last())
      out.push_back({name.first, name.second, std::move(last), x->leaving_});
  return out;
}

} // namespace caisson::detail
