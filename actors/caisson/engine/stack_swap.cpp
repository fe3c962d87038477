#include <caisson/engine/stack_swap.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/settings/row_changes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace caisson::detail {

// -- what stays ---------------------------------------------------------------

bool stack_swap::goes_on(std::size_t k, const next_layer& x) const {
  const auto& old = core_.layers[k];
  return !old.retired() && !x.afresh && old.owner->name() == x.owner->name()
         && old.machine->kind() == x.owner->machine().kind()
         && old.owner->is_compatible(*x.owner)
         && old.owner->targets() == x.owner->targets();
}

// A common subsequence: of those with the most layers that are bound, a longest
// one. What holds writes keeps its place before what comes later.
stack_swap::matches
stack_swap::match(const std::vector<next_layer>& next) const {
  const auto old = core_.layers.size();
  using row = std::array<std::uint32_t, most_layers + 1>;
  auto weight = [&](std::size_t k) {
    return static_cast<std::uint32_t>(is_bound(k) ? most_layers + 1 : 1);
  };
  // [i][k]: of those from the i-th and the k-th one on.
  std::vector<row> heaviest(next.size() + 1, row{});
  std::vector<std::uint64_t> alike(next.size());
  for (auto i = next.size(); i-- > 0;)
    for (auto k = old; k-- > 0;) {
      auto same = goes_on(k, next[i]);
      alike[i] |= std::uint64_t{same} << k;
      heaviest[i][k] = std::max(heaviest[i + 1][k], heaviest[i][k + 1]);
      if (same)
        heaviest[i][k] = std::max(heaviest[i][k],
                                  heaviest[i + 1][k + 1] + weight(k));
    }
  matches out(next.size());
  for (std::size_t i = 0, k = 0; i < next.size() && k < old;) {
    if ((alike[i] >> k & 1) != 0
        && heaviest[i][k] == heaviest[i + 1][k + 1] + weight(k))
      out[i++] = k++;
    else if (heaviest[i + 1][k] == heaviest[i][k])
      ++i;
    else
      ++k;
  }
  const auto stay = out.size()
                    - static_cast<std::size_t>(
                      std::count(out.begin(), out.end(), std::nullopt));
  CAISSON_ENSURE(stay <= old && stay <= heaviest[0][0],
                 "{} of {} layers stay, of weight {}", stay, old,
                 heaviest[0][0]);
  return out;
}

std::string stack_swap::problem_with(const next_stack& x) const {
  if (x.worker && upstream_.leaving() >= most_replaced_workers)
    return fmt::format("calls are still in flight with {} workers that were "
                       "replaced earlier, which is the most there can be",
                       upstream_.leaving());
  auto found = match(x.layers);
  auto additions = static_cast<std::size_t>(
    std::count(found.begin(), found.end(), std::nullopt));
  if (core_.layers.size() + additions <= most_layers)
    return {};
  return fmt::format("calls that began with earlier stacks are still in "
                     "flight: {} layers are in use, and there can be {}",
                     core_.layers.size(), most_layers);
}

// -- the change ---------------------------------------------------------------

void stack_swap::start_layers(const next_stack& x) {
  auto found = match(x.layers);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i])
      core_.host.start_layer(*x.layers[i].owner);
}

std::vector<layer_change> stack_swap::apply(next_stack x, bool draining) {
  changes_.clear();
  auto found = match(x.layers);
  change_gate(x);
  change_settings(x, found);
  change_layers(std::move(x.layers), found, draining);
  CAISSON_ENSURE(count_in_force() == found.size(),
                 "{} layers are in force, of {}", count_in_force(),
                 found.size());
  return std::exchange(changes_, {});
}

void stack_swap::note(std::string layer, std::string what) {
  auto k = layer.empty() ? std::nullopt : core_.layers.named(layer);
  core_.layers.publish(k.value_or(core_.layers.size()),
                       {.kind = event_kind::reconfigured, .detail = what});
  changes_.push_back({std::move(layer), std::move(what)});
}

void stack_swap::change_gate(const next_stack& x) {
  auto next = x.config;
  next.name = core_.config.name;
  next.seed = core_.config.seed;
  auto what = row_changes(rows_of(core_.config), rows_of(next));
  core_.config = std::move(next);
  if (x.supervision) {
    const auto& before = upstream_.supervisor().config();
    auto more = row_changes(rows_of(before), rows_of(*x.supervision));
    if (!more.empty())
      what += (what.empty() ? "worker: " : "; worker: ") + more;
    upstream_.reconfigure(*x.supervision);
  }
  if (!what.empty())
    note({}, std::move(what));
  if (x.worker) {
    core_.adapter = x.worker->adapter;
    core_.dead_letters = x.worker->dead_letters;
    note({}, "worker: " + x.worker->changes);
  }
}

void stack_swap::change_settings(next_stack& x, const matches& found) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i])
      continue;
    auto& l = *core_.layers[*found[i]].owner;
    if (l.leaving()) {
      core_.layers.set_leaving(*found[i], false);
      note(l.name(), "added");
    }
    auto before = l.config_rows();
    core_.layers.run(*found[i],
                     [&](policy&, env& e) { l.adopt(*x.layers[i].owner, e); });
    core_.layers.note_resends();
    if (auto what = row_changes(before, l.config_rows()); !what.empty())
      note(l.name(), std::move(what));
  }
}

// Those that come stand in front of those that go: no call meets both.
void stack_swap::change_layers(std::vector<next_layer> next,
                               const matches& found, bool draining) {
  auto& layers = core_.layers;
  std::vector<std::size_t> leaving;
  for (std::size_t k = 0; k < layers.size(); ++k)
    if (!layers[k].is_gone()
        && std::find(found.begin(), found.end(), k) == found.end())
      leaving.push_back(k);
  auto stays = static_cast<std::size_t>(
    std::count_if(found.begin(), found.end(), [](auto& x) { return !!x; }));
  if (leaving.empty() && stays == next.size())
    return;
  core_.calls.next_plan();
  for (auto k : leaving) {
    note(layers[k].owner->name(), "removed");
    if (is_bound(k))
      layers.set_leaving(k, true);
    else
      layers.retire(k, core_.calls.plan());
  }
  std::vector<int> to(layers.size());
  std::vector<layer_entry> added;
  std::vector<std::size_t> places;
  auto place = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (!found[i]) {
      added.push_back(entry_of(std::move(next[i].owner)));
      added.back().since = core_.calls.plan();
      places.push_back(static_cast<std::size_t>(place++));
      continue;
    }
    CAISSON_ENSURE(k <= *found[i] && *found[i] < layers.size(),
                   "layer {} of {} stays, after layer {}", *found[i],
                   layers.size(), k);
    while (k <= *found[i])
      to[k++] = place++;
  }
  while (k < layers.size())
    to[k++] = place++;
  CAISSON_ENSURE(
    static_cast<std::size_t>(place) == layers.size() + added.size(),
    "{} places for {} layers", place, layers.size() + added.size());
  layer_moves moves{std::move(to), static_cast<std::size_t>(place)};
  core_.calls.rearrange(moves);
  layers.rearrange(moves, std::move(added));
  for (auto layer : leaving)
    if (auto at = static_cast<std::size_t>(moves.of(layer));
        layers[at].retired())
      end(at);
  for (auto at : places)
    insert_layer(at, draining);
}

void stack_swap::insert_layer(std::size_t k, bool draining) {
  auto& x = core_.layers[k];
  CAISSON_ENSURE(x.targets.empty() && x.since == core_.calls.plan(),
                 "layer {} is new, and has {} targets", k, x.targets.size());
  const auto targets = x.owner->targets();
  for (const auto& target : targets) {
    auto info = core_.host.add_target(targets_.next(), target);
    x.targets.push_back(targets_.add(info));
  }
  CAISSON_ENSURE(!x.is_gone() && x.targets.size() == targets.size(),
                 "layer {} comes with {} targets of {}", k, x.targets.size(),
                 targets.size());
  note(x.owner->name(), "added");
  if (draining)
    core_.layers.run(k, [](policy& p, env& e) { p.drain(e); });
}

// Whether earlier calls were promised what further ones must not undo.
bool stack_swap::is_bound(std::size_t k) const {
  const auto& x = core_.layers[k];
  return x.holds_open && x.owner->acts_when_off();
}

std::size_t stack_swap::count_in_force() const {
  std::size_t n = 0;
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    n += core_.layers[k].is_gone() ? 0 : 1;
  return n;
}

void stack_swap::end(std::size_t k) {
  CAISSON_ENSURE(core_.layers[k].retired(), "layer {} ends, and is in force",
                 k);
  core_.layers[k].owner->retire();
  core_.layers.run(k, [](policy& p, env& e) { p.drain(e); });
}

// -- afterwards ---------------------------------------------------------------

bool stack_swap::retire_unbound() {
  auto& layers = core_.layers;
  std::vector<std::size_t> done;
  for (std::size_t k = 0; k < layers.size(); ++k)
    if (layers[k].leaving() && !is_bound(k))
      done.push_back(k);
  if (done.empty())
    return false;
  core_.calls.next_plan();
  for (auto k : done)
    layers.retire(k, core_.calls.plan());
  for (auto k : done)
    end(k);
  return true;
}

bool stack_swap::is_unused(std::size_t k) const {
  const auto& x = core_.layers[k];
  return x.retired() && !x.holds_open
         && !core_.calls.has_plan(x.since, x.until);
}

bool stack_swap::any_unused() const {
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    if (is_unused(k))
      return true;
  return false;
}

void stack_swap::drop_unused() {
  auto& layers = core_.layers;
  std::vector<int> to(layers.size());
  auto place = 0;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    auto unused = is_unused(k);
    to[k] = unused ? layer_moves::gone : place++;
    if (!unused)
      continue;
    for (auto target : layers[k].targets) {
      core_.host.drop_target(target);
      targets_.drop(target);
    }
  }
  layer_moves moves{std::move(to), static_cast<std::size_t>(place)};
  CAISSON_ENSURE(moves.size() < layers.size(), "none of {} layers is unused",
                 layers.size());
  core_.calls.rearrange(moves);
  layers.rearrange(moves);
}

} // namespace caisson::detail
