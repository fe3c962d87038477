// Calls of a guard whose work is done somewhere else.
#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/gate/detail/guard_step.hpp>
#include <caisson/gate/guard.hpp>

#include <bit>
#include <memory>
#include <utility>

namespace caisson::detail {

guard_host::opened guard_host::open(call_options* options) {
  call_options unset;
  auto& all = options ? *options : unset;
  // Nobody makes another attempt, also if this one runs into a deadline.
  const auto idempotent = std::exchange(all.idempotent, idempotence::no);
  auto lock = enter();
  auto who = std::make_unique<admitted_caller>();
  auto token = token_of(*who);
  opened out;
  ++inside_;
  if (stopped_)
    who->answer = caf::make_message(end_error());
  else
    begin(*who, &all, token);
  if (!who->answer && !who->next) {
    {
      step running{*this};
      withdraw(*who, running.now());
    }
    who->answer = caf::make_message(make_error(
      errc::queue_full, rejection{name_, duration::zero(), false,
                                  "it would have to wait, which only `run` "
                                  "does"}));
  }
  if (!who->answer) {
    out.token = token;
    who->key = *std::exchange(who->next, std::nullopt);
    out.options = engine_.options_of(who->key);
    out.options.idempotent = idempotent;
    (void)who.release();
    hand_out_events(lock);
    return out;
  }
  auto* error = portable::get_if<caf::error>(*who->answer);
  out.refused.error = error ? *error : no_value_error();
  out.refused.may_have_executed = false;
  out.refused.retry_after = caisson::retry_after(out.refused.error);
  hand_out_events(lock);
  leave(*who);
  return out;
}

void guard_host::close(std::uint64_t token,
                       const std::optional<attempt_result>& how) {
  std::unique_ptr<admitted_caller> who{
    static_cast<admitted_caller*>(std::bit_cast<caller*>(token))};
  // One that a function of the policies lets go of ends after that function.
  if (is_stepping()) {
    who->how = how;
    ended_in_step_.push_back(std::move(who));
    return;
  }
  auto lock = enter();
  if (!stopped_) {
    step running{*this};
    end(*who, how, running.now());
  }
  // Last, as the guard may end then.
  hand_out_events(lock);
  leave(*who);
}

void guard_host::end(admitted_caller& who,
                     const std::optional<attempt_result>& how, time_point now) {
  if (how) {
    meaning_ = how->meaning;
    if (meaning_) {
      // Nobody makes another attempt, so no layer is to wait for one.
      meaning_->max_attempts = 1;
      if (meaning_->kind == answer_class::unknown)
        meaning_->kind = answer_class::retry;
    }
    auto failed = how->meaning || !how->text.empty();
    engine_.on_answer(who.key, failed ? failure_of(*how) : caf::message{}, now);
    meaning_.reset();
  }
  // Without a result, or a layer asks for something else first.
  if (!stopped_ && !who.answer)
    withdraw(who, now);
}

// Each may make policies call a function that ends more.
void guard_host::end_those_of_step(time_point now) {
  while (!ended_in_step_.empty() || !deferred_.empty()) {
    for (auto& who : std::exchange(ended_in_step_, {})) {
      if (!stopped_)
        end(*who, who->how, now);
      leave(*who);
    }
    for (auto& x : std::exchange(deferred_, {})) {
      if (!stopped_)
        carry_out(*x, now);
      released_.push_back(std::move(x));
    }
  }
}

// It is answered then, or nobody answers it any more.
void guard_host::withdraw(caller& who, time_point now) {
  engine_.on_cancelled(token_of(who), 1, now);
}

} // namespace caisson::detail
