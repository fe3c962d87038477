#include <caisson/engine/layer_table.hpp>

#include <caisson/engine/gate_config.hpp>
#include <caisson/policy/call_number.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::detail {

const wide_histogram* layer_env::durations(measured what, bool ok) const {
  return times ? times->find(what, ok) : nullptr;
}

void layer_env::hold_open(bool x) {
  table_.hold_open(layer, x);
}

void layer_env::emit(const event_info& x) {
  table_.publish(layer, x);
}

void layer_env::emit_wait(call_id call, std::size_t running,
                          std::size_t waiting, std::string_view key) {
  if (config->emit_waits)
    table_.publish_wait(layer, call, running, waiting, key);
}

void layer_env::callback_threw(std::string_view function,
                               std::string_view what) {
  failure = table_.note_failure(layer, function, what);
}

circuit layer_env::circuit(std::string_view key) const {
  auto worst = circuit::closed;
  for (std::size_t k = 0; k < table_.size(); ++k)
    if (table_[k].stands_with(table_[layer])
        && table_.active(k) == mode::enforce)
      worst = std::max(worst, table_[k].machine->circuit(key));
  return worst;
}

layer_entry entry_of(std::unique_ptr<layer> x) {
  layer_entry entry;
  entry.machine = &x->machine();
  entry.handles_content = x->handles_content();
  entry.weighs = x->weighs();
  entry.may_wake = x->may_wake();
  entry.owner = std::move(x);
  return entry;
}

layer_table::layer_table(std::vector<std::unique_ptr<layer>> layers,
                         event_hub& events, random_source& r,
                         secret_source& secrets)
  : events_(events), env_(*this, r, secrets) {
  // Number 0 is the worker.
  target_id next_target = worker_target + 1;
  for (auto& x : layers) {
    auto& entry = entries_.emplace_back(entry_of(std::move(x)));
    for (auto n = entry.owner->targets().size(); n > 0; --n)
      entry.targets.push_back(next_target++);
  }
  note_resends();
}

std::optional<std::size_t>
layer_table::named(std::string_view name) const noexcept {
  for (std::size_t k = 0; k < entries_.size(); ++k)
    if (!entries_[k].is_gone() && entries_[k].owner->name() == name)
      return k;
  return std::nullopt;
}

std::optional<std::size_t> layer_table::only() const noexcept {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    if (entries_[k].is_gone())
      continue;
    if (found)
      return std::nullopt;
    found = k;
  }
  return found;
}

// -- turns --------------------------------------------------------------------

void layer_table::note_wakeup(std::size_t k, time_point at) {
  entries_[k].wake_at = at;
  find_wakeup();
}

void layer_table::find_wakeup() {
  next_ = {never, 0};
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].wake_at < next_.first)
      next_ = {entries_[i].wake_at, i};
}

void layer_table::take_actions(std::size_t k) {
  for (auto& a : env_.actions) {
    if (a.what == env::action::kind::cancel_child)
      given_up_.insert(a.index);
    else if (a.what == env::action::kind::reject)
      rejected_.insert({k, a.call});
    else if (a.executed)
      acknowledged_.insert(a.call);
    requests_.push_back({k, a});
  }
  env_.actions.clear();
}

layer_request layer_table::pop_request() {
  auto x = requests_.front();
  requests_.pop_front();
  if (x.what.what == env::action::kind::cancel_child) {
    given_up_.erase(x.what.index);
  } else if (x.what.what == env::action::kind::reject) {
    auto i = rejected_.find({x.layer, x.what.call});
    CAISSON_ENSURE(i != rejected_.end(),
                   "layer {} rejects call {}, of which nothing is known",
                   x.layer, call_number(x.what.call));
    rejected_.erase(i);
  } else if (x.what.executed) {
    acknowledged_.erase(x.what.call);
  }
  return x;
}

// -- layers that come and go --------------------------------------------------

void layer_table::retire(std::size_t k, std::uint32_t plan) {
  CAISSON_ENSURE(!entries_[k].retired() && entries_[k].since < plan,
                 "layer {}, of plan {}, goes before plan {}", k,
                 entries_[k].since, plan);
  CAISSON_ENSURE(!entries_[k].leaving() || leaving_ > 0,
                 "layer {} leaves, and none is counted", k);
  leaving_ -= entries_[k].leaving() ? 1 : 0;
  entries_[k].until = plan;
  ++retired_;
}

void layer_table::set_leaving(std::size_t k, bool x) {
  leaving_ -= entries_[k].leaving() ? 1 : 0;
  run(k, [&](policy&, env&) { entries_[k].owner->set_leaving(x); });
  leaving_ += x ? 1 : 0;
  CAISSON_ENSURE(entries_[k].leaving() == x && leaving_ <= entries_.size(),
                 "{} of {} layers leave, layer {} among them or not", leaving_,
                 entries_.size(), k);
}

void layer_table::rearrange(const layer_moves& moves,
                            std::vector<layer_entry> added) {
  std::vector<layer_entry> after(moves.size());
  for (std::size_t k = 0; k < entries_.size(); ++k)
    if (auto to = moves.of(k); to != layer_moves::gone)
      after[static_cast<std::size_t>(to)] = std::move(entries_[k]);
  auto next = added.begin();
  for (auto& x : after)
    if (!x.owner)
      x = std::move(*next++);
  CAISSON_ENSURE(next == added.end(), "{} layers came to {} places",
                 added.size(), after.size());
  for (auto& x : requests_) {
    CAISSON_ENSURE(moves.of(x.layer) != layer_moves::gone,
                   "layer {} is gone, and waits for something", x.layer);
    x.layer = static_cast<std::size_t>(moves.of(x.layer));
  }
  rejected_.clear();
  for (const auto& x : requests_)
    if (x.what.what == env::action::kind::reject)
      rejected_.insert({x.layer, x.what.call});
  // What was dropped ends when the table is whole again.
  entries_.swap(after);
  retired_ = leaving_ = holding_open_ = 0;
  for (const auto& x : entries_) {
    retired_ += x.retired() ? 1 : 0;
    leaving_ += x.leaving() ? 1 : 0;
    holding_open_ += x.holds_open ? 1 : 0;
  }
  note_resends();
  find_wakeup();
}

void layer_table::note_resends() {
  resends_ = std::any_of(entries_.begin(), entries_.end(),
                         [](const auto& x) { return x.machine->resends(); });
}

// -- reports ------------------------------------------------------------------

void layer_table::publish(std::size_t k, const event_info& x) {
  static const std::string none;
  events_.publish(env_.now, k < size() ? entries_[k].owner->name() : none, x);
}

void layer_table::publish_wait(std::size_t k, call_id call, std::size_t running,
                               std::size_t waiting, std::string_view key) {
  publish(k, {.kind = event_kind::waiting,
              .detail = fmt::format("{} running, {} waiting", running, waiting),
              .call = call,
              .key = key});
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
