// A worker that answers as a plan says.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/stack/content.hpp>

#include "support/stack_plan.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// A worker that answers as the plan says.
class planned_worker {
public:
  using replies = std::map<int, std::vector<reply_plan>>;

  class body;

  enum class role { worker, alternative, verifier };

  /// Outlives the worker; the next one goes on with it.
  struct state {
    replies plan;
    role part = role::worker;
    std::map<int, std::size_t> attempts;
    std::vector<std::string> log;
    time_point start;
    /// Whether it has no server.
    bool away = false;
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

  void on_message(portable::reply_to from, caf::message&& content) override {
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

  void on_answer(std::uint64_t, caf::message&&) override {}
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
    constexpr const char* names[] = {"worker ", "alternative ", "verifier "};
    state_->log.push_back(fmt::format(
      "{:>16} {}{}", caisson::to_text(clock().now() - state_->start),
      names[static_cast<int>(state_->part)], what));
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
    if (state_->part == role::verifier)
      return finding(content, x);
    return value_or_error(content, x);
  }

  // Of what was carried out it knows the answer.
  static caf::message finding(const caf::message& content,
                              const reply_plan& x) {
    verification out;
    if (x.kind == reply_plan::what::error)
      out = verification::not_done();
    else if (x.kind == reply_plan::what::value)
      out = {effect::done, value_for(content)};
    return caf::make_message(std::move(out));
  }

  static caf::message value_for(const caf::message& content) {
    auto* b = portable::get_if<batch>(content);
    if (!b)
      return caf::make_message(
        portable::holds<int>(content) ? content.get_as<int>(0) * 10 : 0);
    batch_reply out;
    for (const auto& item : b->items)
      out.results.push_back(value_for(item));
    return caf::make_message(std::move(out));
  }

  // Only errors after which the work may have been done: a gate in front does
  // not believe another one that it was not.
  static caf::message without_server(const reply_plan& x) {
    constexpr transport_errc all[] = {
      transport_errc::lost, transport_errc::timed_out, transport_errc::garbled};
    return caf::make_message(
      make_error(all[static_cast<std::size_t>(x.code) % std::size(all)]));
  }

  caf::message value_or_error(const caf::message& content,
                              const reply_plan& x) const {
    if (state_->away)
      return without_server(x);
    // A batch is refused as a whole, or answered item by item.
    if (x.kind != reply_plan::what::own_error)
      if (auto* b = portable::get_if<batch>(content)) {
        batch_reply out;
        for (const auto& item : b->items)
          out.results.push_back(value_or_error(item, next_reply(item)));
        return caf::make_message(std::move(out));
      }
    switch (x.kind) {
      case reply_plan::what::error:
        return caf::make_message(caf::make_error(caf::sec::end_of_stream));
      case reply_plan::what::no_answer:
        return without_server(x);
      case reply_plan::what::own_error:
        return caf::make_message(make_error(
          x.code,
          rejection{"elsewhere", x.retry_after, x.may_have_executed, {}}));
      default:
        return value_for(content);
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

} // namespace caisson::test
