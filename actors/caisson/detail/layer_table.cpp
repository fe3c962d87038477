#include <caisson/detail/layer_table.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

const wide_histogram* layer_env::durations(measured what, bool ok) const {
  return times ? times->find(what, ok) : nullptr;
}

void layer_env::hold_open(bool x) {
  table_.hold_open(layer, x);
}

void layer_env::tell(const event_info& x) {
  table_.publish(layer, x);
}

void layer_env::callback_threw(std::string_view function,
                               std::string_view what) {
  failure = table_.note_failure(layer, function, what);
}

template <class F>
circuit layer_env::worst(F state_of) const {
  auto worst = circuit::closed;
  for (std::size_t k = 0; k < table_.size(); ++k)
    if (table_.active(k) == mode::enforce)
      worst = std::max(worst, state_of(*table_[k].machine));
  return worst;
}

circuit layer_env::circuit() const {
  return worst([](const policy& p) { return p.circuit(); });
}

circuit layer_env::circuit_for(std::string_view key) const {
  return worst([&](const policy& p) { return p.circuit_for(key); });
}

layer_table::layer_table(std::vector<std::unique_ptr<layer>> layers,
                         event_hub& events, random_source& r)
  : events_(events), env_(*this, r) {
  // Number 0 is the worker.
  std::uint32_t next_target = 1;
  for (auto& x : layers) {
    layer_entry entry;
    entry.first_target = next_target;
    next_target += static_cast<std::uint32_t>(x->targets().size());
    entry.machine = &x->machine();
    entry.handles_content = x->handles_content();
    entry.owner = std::move(x);
    resends_ = resends_ || entry.machine->resends();
    entries_.push_back(std::move(entry));
  }
}

std::optional<std::size_t>
layer_table::named(std::string_view name) const noexcept {
  for (std::size_t k = 0; k < entries_.size(); ++k)
    if (entries_[k].owner->name() == name)
      return k;
  return std::nullopt;
}

// -- turns --------------------------------------------------------------------

void layer_table::note_wakeup(std::size_t k, time_point at) {
  entries_[k].wake_at = at;
  next_ = {never, 0};
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].wake_at < next_.first)
      next_ = {entries_[i].wake_at, i};
}

void layer_table::take_actions(std::size_t k) {
  for (auto& a : env_.actions) {
    if (a.what == env::action::kind::cancel_child)
      given_up_.insert(a.index);
    requests_.push_back({k, a});
  }
  env_.actions.clear();
}

layer_request layer_table::pop_request() {
  auto x = requests_.front();
  requests_.pop_front();
  if (x.what.what == env::action::kind::cancel_child)
    given_up_.erase(x.what.index);
  return x;
}

// -- what is told -------------------------------------------------------------

void layer_table::publish(std::size_t k, const event_info& x) {
  static const std::string none;
  events_.publish(env_.now, k < size() ? entries_[k].owner->name() : none, x);
}

std::string layer_table::note_failure(std::size_t k, std::string_view function,
                                      std::string_view what) {
  constexpr std::size_t longest = 512;
  ++callbacks_failed;
  auto text = fmt::format("{}: {}", function, what.substr(0, longest));
  publish(k, {.kind = event_kind::callback_failed, .detail = text});
  return text;
}

} // namespace caisson::detail
