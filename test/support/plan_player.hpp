// Runs a plan before one gate with all layers, before a local gate with them,
// or before a chain of gates with one layer each, and writes down what callers
// and workers saw.
#pragma once

#include <caisson/gate.hpp>
#include <caisson/testing/virtual_time.hpp>

#include "support/layer_traits.hpp"
#include "support/local_proxy.hpp"
#include "support/planned_worker.hpp"

#include <memory>
#include <set>

namespace caisson::test {

/// What a caller got.
struct caller_answer {
  bool answered = false;
  duration at = duration::zero();
  /// Everything but `may_have_executed`.
  std::string what = {};
  bool may_have_executed = false;

  friend bool operator==(const caller_answer&, const caller_answer&) = default;
};

/// What came of a plan.
struct records {
  /// By call.
  std::map<int, caller_answer> answers = {};
  /// The attempts that the worker, the actor of the fallbacks and canaries, and
  /// the verifier saw, with their instants, in an order of their own.
  std::vector<std::string> attempts = {};
  /// What operators were answered.
  std::vector<std::string> acts = {};
  /// Two calls came or went at the same instant, the end of a breaker's
  /// interval for instance. Which one is first depends on when their timers
  /// were set, and on how many mailboxes lie between.
  bool crowded = false;
};

class plan_player {
public:
  /// One gate with all layers, also a local one, or gates with one layer each.
  enum class form { one_gate, local, chain };

  plan_player(const stack_plan& p, form f)
    : plan_(p), form_(f), start_(world_.now()) {
    planned_worker::replies main;
    planned_worker::replies other;
    for (const auto& x : p.calls) {
      main[x.id] = x.worker;
      other[x.id] = x.alternative;
    }
    worker_state_->plan = std::move(main);
    other_state_->plan = std::move(other);
    verifier_state_->plan = other_state_->plan;
    other_state_->part = planned_worker::role::alternative;
    verifier_state_->part = planned_worker::role::verifier;
    worker_state_->start = other_state_->start = verifier_state_->start
      = start_;
    actors_ = {planned_worker::spawn(world_, other_state_),
               planned_worker::spawn(world_, verifier_state_)};
    build();
    for (const auto& x : gates_)
      world_.send(x, subscribe{});
  }

  ~plan_player() {
    for (const auto& x : gates_)
      world_.kill(x);
    world_.kill(actors_.alternative);
    world_.kill(actors_.verifier);
    kill_worker();
  }

  /// One thing after the other, each until nobody has mail.
  records play() {
    auto call = plan_.calls.begin();
    auto act = plan_.acts.begin();
    while (call != plan_.calls.end() || act != plan_.acts.end()) {
      auto acts = call == plan_.calls.end()
                  || (act != plan_.acts.end() && act->at < call->at);
      auto at = acts ? act->at : call->at;
      if (at >= plan_.end)
        break;
      world_.advance_to(start_ + at);
      if (acts)
        perform(*act++);
      else
        begin(*call++);
    }
    if (plan_.end != unlimited)
      stop();
    // Less than the timeouts that are not to pass.
    world_.advance(std::chrono::minutes(50));
    return take_records();
  }

private:
  void build() {
    auto config = gate_config{
      .name = "gate", .default_deadline = unlimited, .seed = 1};
    auto behind = [this] {
      if (!plan_.supervised) {
        worker_ = planned_worker::spawn(world_, worker_state_);
        return worker{worker_}.takes_calls().takes_cancelled().classified_by(
          transport_answer);
      }
      return worker::supervised(
               [s = worker_state_](
                 caf::actor_system& sys) -> caf::expected<caf::actor> {
                 return planned_worker::spawn(sys, s);
               },
               {.restart = schedule::constant(duration{123'456'789}),
                .max_restarts = 1000,
                .max_waiting = 3,
                .on_give_up = give_up_action::refuse})
        .takes_calls()
        .takes_cancelled()
        .classified_by(transport_answer);
    };
    if (form_ != form::chain) {
      stack s{config};
      for (const auto& x : plan_.layers)
        add_layer(s, x, actors_);
      gates_ = {
        spawn_host(form_ == form::local ? host_kind::local : host_kind::gate,
                   world_, behind(), std::move(s))};
      return;
    }
    // From the inside out; the one in front comes first in the end.
    for (auto i = plan_.layers.size(); i-- > 0;) {
      stack s{config};
      add_layer(s, plan_.layers[i], actors_);
      gates_.insert(
        gates_.begin(),
        spawn_gate(world_,
                   gates_.empty()
                     ? behind()
                     : worker{gates_.front()}.classified_by(transport_answer),
                   std::move(s)));
    }
  }

  void begin(const call_plan& x) {
    call_options o;
    o.permits = x.permits;
    o.idempotent = static_cast<idempotence>(x.idempotent);
    o.priority = x.priority;
    o.key = x.id % 2 == 0 ? "even" : "odd";
    if (x.deadline == unlimited)
      o.time_left = unlimited;
    else
      o.deadline_ns = (start_ + x.deadline).time_since_epoch().count();
    pending_.emplace(
      x.id, world_.request(gates_.front(), call{caf::make_message(x.id), o}));
  }

  const caf::actor& gate_of(const std::string& layer) const {
    for (std::size_t i = 0; i < plan_.layers.size(); ++i)
      if (plan_.layers[i].name == layer)
        return gates_[std::min(i, gates_.size() - 1)];
    throw std::logic_error{"no layer " + layer};
  }

  void perform(const act_plan& x) {
    switch (x.kind) {
      case act_plan::what::worker_dies:
        return kill_worker();
      case act_plan::what::alternative_dies:
        return world_.kill(actors_.alternative);
      case act_plan::what::server_goes:
      case act_plan::what::server_comes:
        worker_state_->away = x.kind == act_plan::what::server_goes;
        return;
      case act_plan::what::reconfigure:
        return note(
          world_.request(gate_of(x.layer), reconfigure{x.layer, x.set}), x);
      case act_plan::what::command:
        return note(
          world_.request(gate_of(x.layer),
                         command{*operator_command_named(x.command), x.layer}),
          x);
    }
  }

  void stop() {
    world_.advance_to(start_ + plan_.end);
    if (form_ == form::local)
      return world_.send(gates_.front(), local_proxy::stop_message());
    for (const auto& x : gates_)
      stop_gate(x);
    world_.run_until_idle();
  }

  void note(const pending_answer& answer, const act_plan& x) {
    auto context = context_of(answer.error());
    auto response = answer.ok() ? "done" : context ? context->text : "failed";
    acts_.push_back(plan_text(x) + ": " + response);
  }

  void kill_worker() {
    if (auto x = caf::actor_cast<caf::actor>(worker_state_->self))
      world_.kill(x);
  }

  records take_records() {
    records out;
    for (const auto& [id, answer] : pending_)
      out.answers[id] = answer_seen(answer);
    out.attempts = worker_state_->log;
    for (const auto& state : {other_state_, verifier_state_})
      out.attempts.insert(out.attempts.end(), state->log.begin(),
                          state->log.end());
    std::sort(out.attempts.begin(), out.attempts.end());
    out.acts = acts_;
    out.crowded = is_overloaded();
    return out;
  }

  // Two calls come back from a retrier, or are rejected by the same layer,
  // at the same instant; or one is rejected just when another comes back.
  bool is_overloaded() {
    std::map<std::int64_t, std::uint64_t> returns;
    std::set<std::pair<std::int64_t, std::string>> refusals;
    auto events = world_.user().received_as<event>();
    for (const auto& x : events)
      if (x.kind == event_kind::retried
          && !returns.emplace(x.time_ns + x.delay.count(), x.call).second)
        return true;
    for (const auto& x : events) {
      // Calls that were refused while the worker was away come back with it.
      if (x.to == "up" && returns.contains(x.time_ns))
        return true;
      if (x.kind == event_kind::rejected) {
        if (!refusals.emplace(x.time_ns, x.layer).second)
          return true;
        // Gates of a chain have numbers of their own for a call.
        auto i = returns.find(x.time_ns);
        if (gates_.size() == 1 && i != returns.end() && i->second != x.call)
          return true;
      }
    }
    return false;
  }

  caller_answer answer_seen(const pending_answer& answer) const {
    caller_answer x;
    x.answered = answer.ready();
    if (!x.answered)
      return x;
    x.at = answer.at() - start_;
    auto err = answer.error();
    auto* context = context_of(err);
    x.may_have_executed = context && context->may_have_executed;
    if (answer.count() != 1)
      x.what = "answered more than once";
    else if (context)
      x.what = fmt::format(
        "{} by {}, retry after {}", name_of(static_cast<errc>(err.code())),
        context->policy, caisson::to_text(context->retry_after));
    else
      x.what = to_string(answer.content());
    return x;
  }

  // On CAF 1.x before there is an actor system.
  struct types_ready {
    types_ready() { init_transport_types(); }
  };

  types_ready types_;
  const stack_plan& plan_;
  const form form_;
  virtual_time world_;
  time_point start_;
  std::shared_ptr<planned_worker::state>
    worker_state_ = std::make_shared<planned_worker::state>();
  std::shared_ptr<planned_worker::state>
    other_state_ = std::make_shared<planned_worker::state>();
  std::shared_ptr<planned_worker::state>
    verifier_state_ = std::make_shared<planned_worker::state>();
  caf::actor worker_;
  plan_actors actors_;
  /// From the outside in.
  std::vector<caf::actor> gates_;
  std::map<int, pending_answer> pending_;
  std::vector<std::string> acts_;
};

} // namespace caisson::test
