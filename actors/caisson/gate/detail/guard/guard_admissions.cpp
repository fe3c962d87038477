#include <caisson/gate/detail/guard/guard_admissions.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/gate/guard.hpp>

#include <memory>
#include <utility>

namespace caisson::detail {

/// A call whose work is done somewhere else: no thread waits here.
struct guard_admissions::admitted_caller final : guard_caller {
  void on_next() override {}
  void on_abandoned() override {}
  void on_answer() override {}

  /// The key of its only attempt.
  std::uint64_t key = 0;
};

/// One that a function of the policies lets go of ends after that function.
class guard_admissions::late_close final : public late_end {
public:
  late_close(guard_admissions& in, std::unique_ptr<admitted_caller> caller,
             const std::optional<attempt_result>& how)
    : in_(in), caller_(std::move(caller)), how_(how) {}

  void take_effect(time_point now) override {
    if (!in_.core_.is_stopped())
      in_.end(*caller_, how_, now);
    in_.core_.presence().leave();
  }

private:
  guard_admissions& in_;
  const std::unique_ptr<admitted_caller> caller_;
  const std::optional<attempt_result> how_;
};

opened_call guard_admissions::open(call_options* options) {
  call_options unset;
  auto& all = options ? *options : unset;
  // Nobody makes another attempt, also if this one runs into a deadline.
  const auto idempotent = std::exchange(all.idempotent, idempotence::no);
  auto lock = core_.enter();
  auto caller = std::make_unique<admitted_caller>();
  auto token = token_of(*caller);
  opened_call out;
  core_.presence().enter();
  if (core_.is_stopped()) {
    caller->answer = caf::make_message(core_.end_error());
  } else {
    auto running = core_.fire_due_timers_and_step();
    core_.send(*caller, &all, token, 1, running.now());
  }
  if (!caller->answer && !caller->next)
    refuse_wait(*caller);
  if (!caller->answer) {
    out.token = token;
    caller->key = *std::exchange(caller->next, std::nullopt);
    out.options = core_.shared_engine().options_of(caller->key);
    out.options.idempotent = idempotent;
    (void)caller.release();
    core_.deliver_events(lock);
    return out;
  }
  auto* error = portable::get_if<caf::error>(*caller->answer);
  out.refused.error = error ? *error : no_value_error();
  out.refused.may_have_executed = false;
  out.refused.retry_after = caisson::retry_after(out.refused.error);
  core_.deliver_events(lock);
  core_.presence().leave();
  return out;
}

void guard_admissions::refuse_wait(admitted_caller& caller) {
  {
    auto running = core_.fire_due_timers_and_step();
    withdraw(caller, running.now());
  }
  caller.answer = caf::make_message(make_error(
    errc::queue_full, rejection{core_.name(), duration::zero(), false,
                                "the call would have to wait; only `run` "
                                "waits"}));
}

void guard_admissions::close(std::uint64_t token,
                             const std::optional<attempt_result>& how) {
  std::unique_ptr<admitted_caller> caller{
    static_cast<admitted_caller*>(&caller_of(token))};
  if (core_.is_stepping())
    return core_.defer_close(
      std::make_unique<late_close>(*this, std::move(caller), how));
  auto lock = core_.enter();
  if (!core_.is_stopped()) {
    auto running = core_.fire_due_timers_and_step();
    end(*caller, how, running.now());
  }
  // Last, as the guard may end then.
  core_.deliver_events(lock);
  core_.presence().leave();
}

void guard_admissions::end(admitted_caller& caller,
                           const std::optional<attempt_result>& how,
                           time_point now) {
  if (how) {
    auto meaning = how->meaning;
    if (meaning) {
      // Nobody makes another attempt, so no layer is to wait for one.
      meaning->max_attempts = 1;
      if (meaning->kind == answer_class::unknown)
        meaning->kind = answer_class::retry;
    }
    auto failed = how->meaning || !how->text.empty();
    core_.report(caller.key, meaning,
                 failed ? failure_of(*how) : caf::message{}, now);
  }
  // Without a result, or a layer asks for something else first.
  if (!core_.is_stopped() && !caller.answer)
    withdraw(caller, now);
}

// It is answered then, or nobody answers it any more.
void guard_admissions::withdraw(admitted_caller& caller, time_point now) {
  core_.shared_engine().on_cancelled(token_of(caller), 1, now);
}

} // namespace caisson::detail
