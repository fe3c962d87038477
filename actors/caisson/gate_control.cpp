// Operating a gate: status, settings, commands, events, drain.
#include <caisson/detail/gate_actor.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace caisson::detail {

namespace {

caf::error invalid(const std::string& gate, std::string text) {
  return make_error(errc::invalid_config,
                    rejection{gate, duration::zero(), false, std::move(text)});
}

std::optional<operator_command> command_named(std::string_view name) {
  for (std::uint8_t i = 0; i <= last_operator_command; ++i)
    if (auto c = static_cast<operator_command>(i); name_of(c) == name)
      return c;
  return std::nullopt;
}

// What is too large about it; empty if nothing is.
std::string too_large(const reconfigure& x) {
  if (x.layer.size() > max_name_length)
    return "the layer's name is too long";
  if (x.set.size() > max_settings)
    return fmt::format("{} settings are too many, allowed: 0 to {}",
                       x.set.size(), max_settings);
  for (const auto& [key, value] : x.set)
    if (key.size() > max_name_length || value.size() > max_setting_length)
      return fmt::format("a setting is too long, allowed: {} bytes for its "
                         "name, {} for its value",
                         max_name_length, max_setting_length);
  return {};
}

std::string known_commands() {
  std::vector<std::string_view> all;
  for (std::uint8_t i = 0; i <= last_operator_command; ++i)
    all.push_back(name_of(static_cast<operator_command>(i)));
  return fmt::format("{}", fmt::join(all, ", "));
}

} // namespace

caf::message_handler gate_actor::control() {
  return caf::message_handler{
    [this](const get_status&) {
      begin();
      end();
      return make_status();
    },
    [this](const reconfigure& x) {
      begin();
      auto result = handle(x);
      end();
      return result;
    },
    [this](const command& x) {
      begin();
      auto result = handle(x);
      end();
      return result;
    },
    [this](const subscribe&) { return add_subscriber(); },
    [this](const unsubscribe&) { remove_subscriber(); },
    [this](const cancelled& x) {
      begin();
      cancel(current_sender(), x.number);
      end();
    },
    [this](worker_made& x) {
      begin();
      auto wanted = take_made(x);
      end();
      return wanted;
    },
  };
}

// -- status -------------------------------------------------------------------

status gate_actor::make_status() {
  static constexpr std::string_view states[] = {"none", "up", "restarting",
                                                "down", "given_up"};
  status s;
  s.name = config_.name;
  s.state = draining_ ? "draining" : "accepting";
  s.worker = states[static_cast<std::size_t>(worker_)];
  auto& t = totals_;
  s.metrics = {{"calls", t.calls},
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
               {"worker_losses", t.worker_losses},
               {"callbacks_failed", t.callbacks_failed}};
  std::vector<metric> ms;
  supervisor_.list_metrics(ms);
  for (const auto& m : ms)
    s.metrics.emplace(fmt::format("worker_{}", m.name), m.value);
  auto count = [this](phase where) {
    return static_cast<std::int64_t>(calls_.in(where));
  };
  s.metrics["in_progress"] = static_cast<std::int64_t>(calls_.live());
  s.metrics["held"] = count(phase::held);
  s.metrics["waiting_for_worker"] = count(phase::waiting);
  s.metrics["in_flight"] = count(phase::flying);
  s.metrics["leases"] = count(phase::leased);
  s.metrics["timers"] = static_cast<std::int64_t>(timers_.size());
  s.metrics["subscribers"] = static_cast<std::int64_t>(subscribers_.size());
  for (std::size_t k = 0; k < layers_.size(); ++k)
    s.layers.push_back(status_of(k));
  return s;
}

layer_status gate_actor::status_of(std::size_t k) {
  auto& x = layers_[k];
  layer_status s;
  s.name = x.owner->name();
  s.kind = x.machine->kind();
  s.mode = enum_names<mode>::value[static_cast<std::size_t>(x.owner->active())];
  s.state = x.machine->state();
  std::vector<metric> ms;
  x.machine->list_metrics(ms);
  for (const auto& m : ms)
    s.metrics.emplace(m.name, m.value);
  s.metrics["observed_passes"] = x.observed_passes;
  for (auto& row : x.owner->config_rows())
    s.config.emplace(std::move(row.key), std::move(row.value));
  return s;
}

// -- changes ------------------------------------------------------------------

std::optional<std::size_t>
gate_actor::layer_named(const std::string& name) const {
  for (std::size_t k = 0; k < layers_.size(); ++k)
    if (layers_[k].owner->name() == name)
      return k;
  return std::nullopt;
}

caf::result<status> gate_actor::handle(const reconfigure& x) {
  if (auto text = too_large(x); !text.empty())
    return invalid(config_.name, std::move(text));
  auto k = x.layer.empty() && layers_.size() == 1
             ? std::optional<std::size_t>{0}
             : layer_named(x.layer);
  if (!k) {
    std::vector<std::string> names;
    for (const auto& l : layers_)
      names.push_back(l.owner->name());
    return invalid(config_.name,
                   fmt::format("no layer is called \"{}\"; there are: {}",
                               x.layer, fmt::join(names, ", ")));
  }
  auto text = settings_from_text(x.set);
  env_.layer = *k;
  auto found = layers_[*k].owner->change(text, env_);
  turn_over(*k);
  if (!found.empty())
    return invalid(config_.name, to_text(found));
  publish(*k, {.kind = event_kind::reconfigured});
  run_due();
  return make_status();
}

caf::result<status> gate_actor::handle(const command& x) {
  if (x.what.size() > max_name_length || x.layer.size() > max_name_length)
    return invalid(config_.name, "the name is too long");
  auto what = command_named(x.what);
  if (!what)
    return invalid(config_.name,
                   fmt::format("\"{}\" is no command; there are: {}", x.what,
                               known_commands()));
  auto obeyed = false;
  if (x.layer.empty()) {
    for (std::size_t k = 0; k < layers_.size(); ++k)
      obeyed = obey(k, *what) || obeyed;
    if (*what == operator_command::reset) {
      totals_ = {};
      supervisor_.reset();
      obeyed = true;
    }
  } else if (auto k = layer_named(x.layer)) {
    obeyed = obey(*k, *what);
  } else {
    return invalid(config_.name,
                   fmt::format("no layer is called \"{}\"", x.layer));
  }
  if (!obeyed)
    return invalid(config_.name,
                   x.layer.empty()
                     ? fmt::format("no layer knows {}", x.what)
                     : fmt::format("{} does not know {}", x.layer, x.what));
  run_due();
  return make_status();
}

bool gate_actor::obey(std::size_t k, operator_command what) {
  auto& l = *layers_[k].owner;
  auto known = true;
  switch (what) {
    case operator_command::disable:
      l.force_mode(mode::off);
      break;
    case operator_command::metrics_only:
      l.force_mode(mode::observe);
      break;
    case operator_command::enable:
      l.force_mode(std::nullopt);
      known = turn_of(k).command(what, env_);
      turn_over(k);
      break;
    case operator_command::reset:
      layers_[k].observed_passes = 0;
      [[fallthrough]];
    case operator_command::force_open:
    case operator_command::force_closed:
      known = turn_of(k).command(what, env_);
      turn_over(k);
      break;
  }
  if (known)
    publish(k, {.kind = event_kind::reconfigured, .detail = name_of(what)});
  return known;
}

// -- events -------------------------------------------------------------------

void gate_actor::publish(std::size_t k, const env::news& n) {
  ++events_;
  if (subscribers_.empty())
    return;
  auto msg = caf::make_message(event_of(k, n));
  for (const auto& to : subscribers_)
    rt::post(this, to, msg);
}

event gate_actor::event_of(std::size_t k, const env::news& n) const {
  event x;
  x.number = events_;
  x.time_ns = env_.now.time_since_epoch().count();
  x.gate = config_.name;
  if (k < layers_.size())
    x.layer = layers_[k].owner->name();
  x.kind = name_of(n.kind);
  x.from = n.from;
  x.to = n.to;
  x.detail = n.detail;
  x.call = n.call;
  x.delay = n.delay;
  return x;
}

// Who cannot be taken is told, also if he does not wait for an answer: as the
// only event that he gets.
caf::result<void> gate_actor::add_subscriber() {
  auto from = caf::actor_cast<caf::actor>(current_sender());
  if (!from
      || std::find(subscribers_.begin(), subscribers_.end(), from)
           != subscribers_.end())
    return caf::unit;
  if (subscribers_.size() < max_subscribers) {
    watch_for(from);
    subscribers_.push_back(std::move(from));
    return caf::unit;
  }
  auto why = fmt::format("the gate has {} subscribers already",
                         max_subscribers);
  if (rt::handles_request(this))
    return invalid(config_.name, std::move(why));
  env_.now = clock().now();
  rt::post(
    this, from,
    caf::make_message(event_of(
      layers_.size(),
      {.kind = event_kind::rejected, .to = "subscribe", .detail = why})));
  return caf::unit;
}

void gate_actor::remove_subscriber() {
  auto from = caf::actor_cast<caf::actor>(current_sender());
  if (std::erase(subscribers_, from) > 0)
    unwatch_for(from.address());
}

// -- drain --------------------------------------------------------------------

void gate_actor::start_drain(rt::reply_to from) {
  if (from.wanted() && drains_.size() >= max_drains)
    return refuse(from, errc::invalid_config,
                  "as many wait for the end of the drain as may");
  if (from.wanted())
    drains_.push_back(std::move(from));
  if (std::exchange(draining_, true))
    return;
  publish(
    {.kind = event_kind::state_changed, .from = "accepting", .to = "draining"});
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    turn_of(k).drain(env_);
    turn_over(k);
  }
}

void gate_actor::finish_drain() {
  if (drains_.empty() || calls_.live() > 0)
    return;
  for (auto& x : std::exchange(drains_, {}))
    x.answer(this, caf::message{});
}

} // namespace caisson::detail
