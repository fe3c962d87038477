#include <caisson/engine/operations.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/gate_config.hpp>
#include <caisson/engine/reconfigure_size.hpp>
#include <caisson/policy/policy_config.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

// How many keys of a layer its status lists.
constexpr std::size_t most_listed_keys = 10;

key_status key_status_of(key_report&& x) {
  key_status s;
  s.key = std::move(x.key);
  s.state = x.state;
  s.admitted = x.admitted;
  for (const auto& m : x.metrics)
    s.metrics.emplace(m.name, m.value);
  return s;
}

std::string known_commands() {
  std::vector<std::string_view> all;
  for (std::uint8_t i = 0; i <= last_operator_command; ++i)
    all.push_back(name_of(static_cast<operator_command>(i)));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string problem_with_time(const command& x) {
  if (x.for_time < duration::zero())
    return fmt::format("for_time: {} is out of range, allowed: 0s to unlimited",
                       to_text(x.for_time));
  auto forces = x.what == operator_command::force_open
                || x.what == operator_command::force_closed;
  if (x.for_time > duration::zero() && !forces)
    return "for_time requires force_open or force_closed";
  return {};
}

} // namespace

caf::error operations::invalid(std::string text) const {
  return make_error(
    errc::invalid_config,
    rejection{core_.config.name, duration::zero(), false, std::move(text)});
}

caf::error operations::no_such_layer(const std::string& name) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < core_.layers.size(); ++i)
    if (!core_.layers[i].is_gone())
      all.push_back(core_.layers[i].owner->name());
  if (all.empty())
    return invalid("the gate has no layers");
  auto known = fmt::to_string(fmt::join(all, ", "));
  return invalid(
    name.empty()
      ? fmt::format("name one of its layers: {}", known)
      : fmt::format("no layer is called \"{}\"; known: {}", name, known));
}

// -- status -------------------------------------------------------------------

status operations::make_status() {
  core_.check_totals();
  status s;
  s.name = core_.config.name;
  s.state = draining_ ? gate_state::draining : gate_state::accepting;
  s.worker = upstream_.state();
  s.metrics = metrics();
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    if (!core_.layers[k].is_gone())
      s.layers.push_back(status_of(k));
  s.durations = core_.times.list();
  s.tallies = core_.needs.list();
  return s;
}

std::map<std::string, std::int64_t> operations::metrics() const {
  const auto& t = core_.totals;
  auto count = [this](phase where) {
    return static_cast<std::int64_t>(core_.calls.in(where));
  };
  std::map<std::string, std::int64_t> out{
    {"calls", t.calls},
    {"plain_sends", t.plain_sends},
    {"acquires", t.acquires},
    {"succeeded", t.succeeded},
    {"failed", t.failed},
    {"attempts", t.attempts},
    {"late_results", t.late_results},
    {"expired", t.expired},
    {"expired_on_arrival", t.expired_on_arrival},
    {"refused_draining", t.refused_draining},
    {"refused_full", t.refused_full},
    {"refused_invalid", t.refused_invalid},
    {"refused_loop", t.refused_loop},
    {"cancelled", t.cancelled},
    {"no_such_permit", t.no_such_permit},
    {"released_neutral", t.released_neutral},
    {"renewals", t.renewals},
    {"worker_losses", t.worker_losses},
    {"dead_letters", t.dead_letters},
    {"worker_group_stops", upstream_.stopped_by_group()},
    {"callbacks_failed", core_.layers.callbacks_failed},
    {"in_progress", static_cast<std::int64_t>(core_.calls.live())},
    {"held", count(phase::held)},
    {"waiting_for_worker", count(phase::waiting)},
    {"in_flight", count(phase::in_flight)},
    {"leases", count(phase::leased)},
    {"timers", static_cast<std::int64_t>(core_.timers.size())}};
  for (std::size_t i = 0; i < t.answers.size(); ++i)
    out.emplace(
      fmt::format("answers_{}", name_of(static_cast<answer_class>(i))),
      t.answers[i]);
  std::vector<metric> ms;
  upstream_.supervisor().list_metrics(ms);
  for (const auto& m : ms)
    out.emplace(fmt::format("worker_{}", m.name), m.value);
  return out;
}

layer_status operations::status_of(std::size_t k) {
  const auto& x = core_.layers[k];
  layer_status s;
  s.name = x.owner->name();
  s.kind = x.machine->kind();
  s.mode = x.owner->active();
  s.state = x.machine->state();
  std::vector<metric> ms;
  x.machine->list_metrics(ms);
  for (const auto& m : ms)
    s.metrics.emplace(m.name, m.value);
  s.metrics["observed_passes"] = x.observed_passes;
  for (auto& row : x.owner->config_rows())
    s.config.emplace(std::move(row.key), std::move(row.value));
  s.notes = x.owner->notes();
  for (auto& report : x.owner->busiest_keys(most_listed_keys))
    s.keys.push_back(key_status_of(std::move(report)));
  return s;
}

// -- changes ------------------------------------------------------------------

caf::error operations::apply(const reconfigure& x) {
  if (auto text = problem_with_size(x); !text.empty())
    return invalid(std::move(text));
  auto& layers = core_.layers;
  auto k = x.layer.empty() ? layers.only() : layers.named(x.layer);
  if (!k)
    return no_such_layer(x.layer);
  auto set = settings_from_text(x.set);
  auto found = key_conflict_with(*k, set);
  if (found.empty())
    found = layers.run(
      *k, [&](policy&, env& e) { return layers[*k].owner->change(set, e); });
  if (!found.empty())
    return invalid(to_text(found));
  layers.note_resends();
  layers.publish(*k, {.kind = event_kind::reconfigured});
  return {};
}

// A stack is refused in which calls of one owner could get the answer of
// another; so is a change that leads there.
problems operations::key_conflict_with(std::size_t layer,
                                       const settings& set) const {
  const auto& owner = *core_.layers[layer].owner;
  auto use = owner.key_use(set);
  for (std::size_t i = 0; i < core_.layers.size(); ++i) {
    const auto& other = *core_.layers[i].owner;
    if (use == key_meaning::none || i == layer || core_.layers[i].is_gone())
      continue;
    auto conflicts = use == key_meaning::content ? key_meaning::owner
                                                 : key_meaning::content;
    if (other.key_use({}) != conflicts)
      continue;
    auto [by_content, by_owner] = use == key_meaning::content
                                    ? std::pair{&owner, &other}
                                    : std::pair{&other, &owner};
    auto remedy = by_content->remedy_for_keys();
    return {
      {problem_kind::relation,
       key_conflict_path(setting_path{} / by_content->name(), remedy.setting),
       key_conflict_text(remedy, by_owner->name())}};
  }
  return {};
}

caf::error operations::apply(const command& x) {
  if (x.layer.size() > max_name_length)
    return invalid("the name is too long");
  if (static_cast<std::uint8_t>(x.what) > last_operator_command)
    return invalid(fmt::format("unknown command; known: {}", known_commands()));
  if (auto wrong = problem_with_time(x); !wrong.empty())
    return invalid(wrong);
  if (!x.layer.empty()) {
    auto k = core_.layers.named(x.layer);
    if (!k)
      return no_such_layer(x.layer);
    if (!apply(*k, x))
      return invalid(
        fmt::format("{} does not know {}", x.layer, name_of(x.what)));
    return {};
  }
  auto known = x.what == operator_command::reset;
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    if (!core_.layers[k].is_gone())
      known = apply(k, x) || known;
  if (x.what == operator_command::reset) {
    core_.check_totals();
    core_.totals = {};
    core_.totals.carried_over = static_cast<std::int64_t>(core_.calls.live())
                                - core_.children;
    core_.times.clear();
    core_.traces.forget_examples();
    core_.needs.clear();
    core_.layers.callbacks_failed = 0;
    upstream_.reset();
  }
  if (!known)
    return invalid(fmt::format("no layer knows {}", name_of(x.what)));
  return {};
}

bool operations::apply(std::size_t k, const command& x) {
  auto& l = *core_.layers[k].owner;
  auto send_to_policy = [&] {
    return core_.layers.run(k, [&](policy& p, env& e) {
      auto forever = x.for_time <= duration::zero();
      return p.command({x.what, forever ? unlimited : x.for_time}, e);
    });
  };
  // In the layer's turn, as it may want to be woken.
  auto force = [&](std::optional<mode> m) {
    core_.layers.run(k, [&](policy&, env&) { l.force_mode(m); });
  };
  auto known = true;
  switch (x.what) {
    case operator_command::off:
      force(mode::off);
      break;
    case operator_command::observe:
      force(mode::observe);
      break;
    case operator_command::enable:
      force(std::nullopt);
      known = send_to_policy();
      break;
    case operator_command::reset:
      core_.layers[k].observed_passes = 0;
      [[fallthrough]];
    case operator_command::force_open:
    case operator_command::force_closed:
      known = send_to_policy();
      break;
  }
  if (known)
    core_.layers.publish(
      k, {.kind = event_kind::reconfigured, .detail = name_of(x.what)});
  return known;
}

// -- drain --------------------------------------------------------------------

void operations::start_drain(reply_slot&& from) {
  if (from.expects_reply() && drains_.size() >= max_drains)
    return core_.host.answer(
      std::move(from),
      core_.refusal(
        errc::invalid_config,
        fmt::format("too many pending drain requests (max {})", max_drains)));
  if (from.expects_reply())
    drains_.push_back(std::move(from));
  CAISSON_ENSURE(drains_.size() <= max_drains,
                 "{} wait for the end of the drain", drains_.size());
  if (std::exchange(draining_, true))
    return;
  core_.layers.publish(
    {.kind = event_kind::state_changed, .from = "accepting", .to = "draining"});
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    core_.layers.run(k, [](policy& p, env& e) { p.drain(e); });
}

void operations::finish_drain() {
  if (!drains_.empty() && !busy())
    stop();
}

void operations::stop() {
  for (auto& x : std::exchange(drains_, {}))
    core_.host.answer(std::move(x), caf::message{});
}

} // namespace caisson::detail
