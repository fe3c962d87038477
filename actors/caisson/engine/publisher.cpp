#include <caisson/engine/publisher.hpp>

#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/operations.hpp>
#include <caisson/engine/upstream.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

void take_numbers(const std::vector<metric>& all, const layer_entry& x,
                  layer_snapshot& out) {
  out.numbers.reserve(all.size() + 1);
  for (const auto& m : all)
    out.numbers.push_back({std::string{m.name}, m.value, m.gauge});
  out.numbers.push_back({"observed_passes", x.observed_passes, false});
}

// What may be a policy of the user's is asked: without numbers if it throws.
void list_numbers(const layer_entry& x, layer_snapshot& out) {
  std::vector<metric> all;
  if (!try_user([&] { x.machine->list_metrics(all); }, [](std::string_view) {}))
    all.clear();
  take_numbers(all, x, out);
}

void list_keys(const layer_entry& x, std::uint32_t most, layer_snapshot& out) {
  std::vector<key_report> found;
  if (!try_user([&] { found = x.owner->busiest_keys(most); },
                [](std::string_view) {}))
    return;
  for (auto& k : found)
    out.keys.push_back({std::move(k.key), std::string{k.state}, k.admitted});
}

layer_snapshot snapshot_of(const layer_entry& x, std::uint32_t keys) {
  layer_snapshot s;
  s.name = x.owner->name();
  s.kind = x.machine->kind();
  s.mode = x.owner->active();
  s.state = x.machine->state();
  list_numbers(x, s);
  if (keys > 0)
    list_keys(x, keys, s);
  return s;
}

} // namespace

void publisher::look() {
  if (!slot_->has_readers()) {
    due_ = never;
    return;
  }
  // Those who began to watch since have nothing yet, and may want it sooner.
  auto watches = slot_->watches();
  if (watches != std::exchange(watches_, watches))
    due_ = core_.now();
  if (due_ == never)
    due_ = std::max(core_.now(), time_after(last_, slot_->interval()));
  if (due_ > core_.now())
    return;
  due_ = never;
  last_ = core_.now();
  publish();
}

void publisher::publish() {
  auto s = std::make_shared<gate_snapshot>();
  s->taken = core_.now();
  s->state = operations_.draining() ? gate_state::draining
                                    : gate_state::accepting;
  s->worker = upstream_.state();
  s->metrics = operations_.metrics();
  s->errors = core_.totals.errors;
  auto keys = slot_->keys();
  s->layers.reserve(core_.layers.size());
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    if (!core_.layers[k].is_gone())
      s->layers.push_back(snapshot_of(core_.layers[k], keys));
  core_.times.for_each(
    [&](measured what, bool ok, const wide_histogram& counts) {
      s->durations.push_back(
        {what, ok, counts, core_.traces.examples().list(what, ok)});
    });
  s->tallies = core_.needs.list();
  slot_->publish(std::move(s));
}

} // namespace caisson::detail
