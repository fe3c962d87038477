// Plays a plan before one gate with all layers, before a local gate with them,
// or before a chain of gates with one layer each, and writes down what callers
// and workers saw.
#pragma once

#include <caisson/gate.hpp>
#include <caisson/virtual_time.hpp>

#include "support/local_proxy.hpp"
#include "support/stack_plan.hpp"

#include <memory>
#include <set>

namespace caisson::test {

/// What a caller heard.
struct heard {
  bool answered = false;
  duration at = duration::zero();
  /// Everything but `reached`.
  std::string what = {};
  bool reached = false;

  friend bool operator==(const heard&, const heard&) = default;
};

/// What came of a plan.
struct records {
  /// By call.
  std::map<int, heard> answers = {};
  /// The attempts that the worker, and the actor of the fallbacks, saw, with
  /// their instants, in an order of their own.
  std::vector<std::string> attempts = {};
  /// What operators were told.
  std::vector<std::string> acts = {};
  /// Two calls came or went at the same instant, the end of a breaker's
  /// interval for instance. Which one is first depends on when their timers
  /// were set, and on how many mailboxes lie between.
  bool crowded = false;
};

/// A worker that answers as the plan says.
class planned_worker {
public:
  using replies = std::map<int, std::vector<reply_plan>>;

  class body;

  /// Outlives the worker; the next one goes on with it.
  struct state {
    replies plan;
    bool alternative = false;
    std::map<int, std::size_t> attempts;
    std::vector<std::string> log;
    time_point start;
    caf::actor_addr self;
  };

  static caf::actor spawn(caf::actor_system& sys, std::shared_ptr<state> s);
};

// -- implementation -----------------------------------------------------------

class planned_worker::body final : public portable::interceptor<cancelled> {
public:
  body(caf::actor_config& cfg, std::shared_ptr<state> s)
    : portable::interceptor<cancelled>(cfg), state_(std::move(s)) {}

  void on_exit() override {
    debts_.clear();
    portable::interceptor<cancelled>::on_exit();
  }

protected:
  caf::message_handler control() override {
    return caf::message_handler{[this](const cancelled& x) {
      auto i = numbers_.find(x.number);
      log(i == numbers_.end() ? "cancelled: unknown"
                              : "cancelled: " + i->second);
    }};
  }

  void on_message(portable::reply_to from, caf::message content) override {
    std::string marks;
    if (portable::holds<call>(content)) {
      auto envelope = portable::take<call>(content);
      marks = text_of(envelope.options);
      content = std::move(envelope.payload);
    }
    log(text_of(content) + marks);
    numbers_[portable::current_call(this)] = text_of(content);
    auto timing = next_reply(content);
    auto msg = answer_to(content, timing);
    count(content);
    if (timing.after == duration::zero() && !is_mute(timing))
      return from.answer(this, std::move(msg));
    auto due = is_mute(timing) ? never : clock().now() + timing.after;
    debts_.push_back({due, std::move(from), std::move(msg)});
    arm();
  }

  void on_timer() override {
    auto due = std::stable_partition(
      debts_.begin(), debts_.end(),
      [now = clock().now()](const debt& x) { return x.due > now; });
    std::vector<debt> paid{std::make_move_iterator(due),
                           std::make_move_iterator(debts_.end())};
    debts_.erase(due, debts_.end());
    for (auto& x : paid)
      x.to.answer(this, std::move(x.content));
    arm();
  }

  void on_answer(std::uint64_t, caf::message) override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  struct debt {
    time_point due;
    portable::reply_to to;
    caf::message content;
  };

  static bool is_mute(const reply_plan& x) {
    return x.kind == reply_plan::what::nothing;
  }

  void arm() {
    auto first = never;
    for (const auto& x : debts_)
      first = std::min(first, x.due);
    set_timer(first);
  }

  void log(const std::string& what) {
    state_->log.push_back(fmt::format(
      "{:>16} {}{}", caisson::to_text(clock().now() - state_->start),
      state_->alternative ? "alternative " : "worker ", what));
  }

  // The number of the attempt is left out: in a chain a retrier does not know
  // how often the ones behind it have tried.
  std::string text_of(const call_options& o) const {
    auto left = o.deadline_ns == 0
                  ? caisson::to_text(o.time_left)
                  : "until "
                      + caisson::to_text(time_point{duration{o.deadline_ns}}
                                         - state_->start);
    return fmt::format(" ({}, idempotent {}, permits {}, priority {}, {})",
                       left, name_of(o.idempotent), o.permits, o.priority,
                       o.key);
  }

  static std::string text_of(const caf::message& content) {
    if (auto* x = portable::get_if<int>(content))
      return std::to_string(*x);
    std::string out;
    if (auto* b = portable::get_if<batch>(content))
      for (const auto& item : b->items)
        out += (out.empty() ? "" : " ") + text_of(item);
    return "[" + out + "]";
  }

  // The reply to the first call in a batch decides when the batch is answered.
  const reply_plan& next_reply(const caf::message& content) const {
    if (auto* b = portable::get_if<batch>(content))
      return next_reply(b->items.front());
    auto id = content.get_as<int>(0);
    const auto& all = state_->plan.at(id);
    auto i = state_->attempts.find(id);
    return all[std::min(i == state_->attempts.end() ? 0 : i->second,
                        all.size() - 1)];
  }

  void count(const caf::message& content) {
    if (auto* b = portable::get_if<batch>(content))
      for (const auto& item : b->items)
        count(item);
    else
      ++state_->attempts[content.get_as<int>(0)];
  }

  caf::message answer_to(const caf::message& content,
                         const reply_plan& x) const {
    // A batch is refused as a whole, or answered item by item.
    if (x.kind != reply_plan::what::own_error)
      if (auto* b = portable::get_if<batch>(content)) {
        batch_reply out;
        for (const auto& item : b->items)
          out.results.push_back(answer_to(item, next_reply(item)));
        return caf::make_message(std::move(out));
      }
    switch (x.kind) {
      case reply_plan::what::error:
        return caf::make_message(caf::make_error(caf::sec::end_of_stream));
      case reply_plan::what::own_error:
        return caf::make_message(make_error(
          x.code, rejection{"elsewhere", x.retry_after, x.reached, {}}));
      default:
        return portable::holds<int>(content)
                 ? caf::make_message(content.get_as<int>(0) * 10)
                 : caf::make_message(0);
    }
  }

  std::shared_ptr<state> state_;
  std::vector<debt> debts_;
  std::map<std::uint64_t, std::string> numbers_;
};

inline caf::actor planned_worker::spawn(caf::actor_system& sys,
                                        std::shared_ptr<state> s) {
  auto x = caf::actor_cast<caf::actor>(sys.spawn<body>(s));
  s->self = x.address();
  return x;
}

// -- playing ------------------------------------------------------------------

class plan_player {
public:
  /// One gate with all layers, also a local one, or gates with one layer each.
  enum class form { one_gate, local, chain };

  plan_player(const stack_plan& p, form f) : plan_(p), start_(world_.now()) {
    planned_worker::replies main;
    planned_worker::replies other;
    for (const auto& x : p.calls) {
      main[x.id] = x.worker;
      other[x.id] = x.alternative;
    }
    worker_state_->plan = std::move(main);
    other_state_->plan = std::move(other);
    other_state_->alternative = true;
    worker_state_->start = other_state_->start = start_;
    alternative_ = planned_worker::spawn(world_, other_state_);
    build(f);
    for (const auto& x : gates_)
      world_.send(x, subscribe{});
  }

  ~plan_player() {
    for (const auto& x : gates_)
      world_.kill(x);
    world_.kill(alternative_);
    kill_worker();
  }

  /// One thing after the other, each until nobody has mail.
  records play() {
    auto call = plan_.calls.begin();
    auto act = plan_.acts.begin();
    while (call != plan_.calls.end() || act != plan_.acts.end()) {
      auto acts = call == plan_.calls.end()
                  || (act != plan_.acts.end() && act->at < call->at);
      world_.advance_to(start_ + (acts ? act->at : call->at));
      if (acts)
        perform(*act++);
      else
        begin(*call++);
    }
    world_.advance(std::chrono::hours(1));
    return take_records();
  }

private:
  void build(form f) {
    auto config = gate_config{
      .name = "gate", .default_deadline = unlimited, .seed = 1};
    auto behind = [this] {
      if (!plan_.supervised) {
        worker_ = planned_worker::spawn(world_, worker_state_);
        return worker{worker_}.takes_calls().takes_cancelled();
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
        .takes_cancelled();
    };
    if (f != form::chain) {
      stack s{config};
      for (const auto& x : plan_.layers)
        add_layer(s, x, alternative_);
      gates_ = {
        spawn_host(f == form::local ? host_kind::local : host_kind::gate,
                   world_, behind(), std::move(s))};
      return;
    }
    // From the inside out; the one in front comes first in the end.
    for (auto i = plan_.layers.size(); i-- > 0;) {
      stack s{config};
      add_layer(s, plan_.layers[i], alternative_);
      gates_.insert(
        gates_.begin(),
        spawn_gate(world_, gates_.empty() ? behind() : worker{gates_.front()},
                   std::move(s)));
    }
  }

  void begin(const call_plan& x) {
    call_options o;
    o.permits = x.permits;
    o.idempotent = static_cast<idempotence>(x.idempotent);
    o.priority = x.id % 3;
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
        return world_.kill(alternative_);
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

  void note(const pending_answer& answer, const act_plan& x) {
    auto context = context_of(answer.error());
    auto said = answer.ok() ? "done" : context ? context->text : "failed";
    acts_.push_back(to_text(x) + ": " + said);
  }

  void kill_worker() {
    if (auto x = caf::actor_cast<caf::actor>(worker_state_->self))
      world_.kill(x);
  }

  records take_records() {
    records out;
    for (const auto& [id, answer] : pending_)
      out.answers[id] = heard_of(answer);
    out.attempts = worker_state_->log;
    out.attempts.insert(out.attempts.end(), other_state_->log.begin(),
                        other_state_->log.end());
    std::sort(out.attempts.begin(), out.attempts.end());
    out.acts = acts_;
    out.crowded = is_crowded();
    return out;
  }

  // Two calls come back from a retrier, or are turned away by the same layer,
  // at the same instant; or one is turned away just when another comes back.
  bool is_crowded() {
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

  heard heard_of(const pending_answer& answer) const {
    heard x;
    x.answered = answer.ready();
    if (!x.answered)
      return x;
    x.at = answer.at() - start_;
    auto err = answer.error();
    auto* context = context_of(err);
    x.reached = context && context->reached;
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

  const stack_plan& plan_;
  virtual_time world_;
  time_point start_;
  std::shared_ptr<planned_worker::state>
    worker_state_ = std::make_shared<planned_worker::state>();
  std::shared_ptr<planned_worker::state>
    other_state_ = std::make_shared<planned_worker::state>();
  caf::actor worker_;
  caf::actor alternative_;
  /// From the outside in.
  std::vector<caf::actor> gates_;
  std::map<int, pending_answer> pending_;
  std::vector<std::string> acts_;
};

} // namespace caisson::test
