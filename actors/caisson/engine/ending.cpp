#include <caisson/engine/ending.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/engine/dead_letters.hpp>
#include <caisson/engine/execution.hpp>

#include <utility>

namespace caisson::detail {

void ending::stop() {
  core_.calls.for_each([this](call_record& r) {
    if (may_be_executing(core_, r))
      mark_executed(r);
  });
  end(errc::cancelled, {});
}

void ending::fail(reply_slot* from, std::string_view why) {
  // Texts of exceptions come from user code.
  constexpr std::size_t longest = 512;
  failure_ = why.substr(0, longest);
  ended_ = true;
  core_.layers.publish({.kind = event_kind::gate_failed, .detail = *failure_});
  refuse(from);
  // A call that the step was about to move may be in no place that says so.
  core_.calls.for_each([](call_record& r) {
    if (r.sends > 0 || r.granted || !r.children.empty())
      mark_executed(r);
  });
  end(errc::internal_error, *failure_);
}

caf::error ending::failure() const {
  if (!failure_)
    return {};
  return make_error(
    errc::internal_error,
    rejection{core_.config.name, duration::zero(), false, *failure_});
}

void ending::refuse(reply_slot* from) {
  if (!from || !from->expects_reply())
    return;
  core_.host.answer(
    std::move(*from),
    core_.refusal(failure_ ? errc::internal_error : errc::cancelled,
                  failure_.value_or("the gate has been stopped")));
}

// Whatever ends the gate, no caller is left waiting.
void ending::end(errc code, const std::string& why) {
  ended_ = true;
  publisher_.stop();
  auto o = outcome::failure(code, false);
  core_.calls.for_each([&](call_record& r) {
    if (r.where == phase::in_flight)
      upstream_.recall(r, o);
    auto is_dead_letter = core_.may_be_dead_letter(r);
    if (!r.from.expects_reply() && !is_dead_letter)
      return;
    auto content = caf::make_message(
      make_error(code, rejection{core_.config.name, duration::zero(),
                                 may_have_executed(r), why}));
    if (is_dead_letter)
      send_dead_letter(core_, r, content);
    if (r.from.expects_reply())
      core_.host.answer(std::move(r.from), std::move(content));
  });
  core_.calls.clear();
  core_.timers.clear();
  core_.callers.clear();
  leases_.clear();
  operations_.stop();
  core_.layers.clear();
}

} // namespace caisson::detail
