// Calls of a guard whose work is done somewhere else.
#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/gate/detail/guard_step.hpp>

#include <bit>
#include <memory>
#include <utility>

namespace caisson::detail {

guard_host::opened guard_host::open(call_options* options) {
  auto lock = enter();
  auto who = std::make_unique<admitted_caller>();
  auto token = token_of(*who);
  opened out;
  ++inside_;
  if (stopped_)
    who->answer = caf::make_message(end_error());
  else
    begin(*who, options, token);
  if (!who->answer && !who->next) {
    withdraw(*who);
    who->answer = caf::make_message(make_error(
      errc::queue_full, rejection{name_, duration::zero(), false,
                                  "it would have to wait, which only `run` "
                                  "does"}));
  }
  if (who->answer) {
    out.refused.error = *portable::get_if<caf::error>(*who->answer);
    out.refused.may_have_executed = false;
    out.refused.retry_after = caisson::retry_after(out.refused.error);
    leave(*who);
  } else {
    out.token = token;
    who->key = *std::exchange(who->next, std::nullopt);
    out.options = engine_.options_of(who->key);
    (void)who.release();
  }
  hand_out_events(lock);
  return out;
}

void guard_host::close(std::uint64_t token,
                       const std::optional<attempt_result>& how) {
  const std::unique_ptr<admitted_caller> who{
    static_cast<admitted_caller*>(std::bit_cast<caller*>(token))};
  auto lock = enter();
  if (!stopped_) {
    if (how) {
      step running{*this};
      meaning_ = how->meaning;
      auto failed = how->meaning || !how->text.empty();
      engine_.on_answer(who->key, failed ? failure_of(*how) : caf::message{},
                        running.now());
      meaning_.reset();
    }
    // Without a result; or a layer wants another attempt, which nobody makes.
    if (!stopped_ && !who->answer)
      withdraw(*who);
  }
  leave(*who);
  hand_out_events(lock);
}

// It is answered then, or nobody answers it any more.
void guard_host::withdraw(caller& who) {
  step running{*this};
  engine_.on_cancelled(token_of(who), 1, running.now());
}

} // namespace caisson::detail
