#include <caisson/engine/error_replies.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/engine/transport_errc.hpp>

#include <string>
#include <utility>

namespace caisson::detail {

namespace {

const std::string& name_of_rejecter(const engine_core& core, int layer) {
  return layer < 0 ? core.config.name
                   : core.layers[static_cast<std::size_t>(layer)].owner->name();
}

// Notes on an error of an adapter that has sent nothing what is known of all
// attempts. A context of somebody else's is not to be lost.
void note_on(caf::message& reply, const caf::error& err, bool executed) {
  auto info = transport_answer(reply);
  if (!info || info->may_have_executed)
    return;
  // What is noted is that nothing was sent, or this would have returned.
  if (gate_note_of(err) ? !executed
                        : err.context().size() > 0
                            && !portable::get_if<std::string>(err.context()))
    return;
  auto context = caf::make_message(rejection{.may_have_executed = executed,
                                             .text = transport_text_of(err),
                                             .from_worker = true});
#if CAISSON_CAF_LEGACY
  caf::error noted{err.code(), err.category(), std::move(context)};
#else
  caf::error noted{static_cast<transport_errc>(err.code()), std::move(context)};
#endif
  reply = caf::make_message(std::move(noted));
}

} // namespace

caf::message error_reply(const engine_core& core, const call_record& r,
                         const outcome& o) {
  return caf::make_message(make_error(
    static_cast<errc>(o.code), rejection{name_of_rejecter(core, r.rejected_by),
                                         o.retry_after,
                                         may_have_executed(r),
                                         {},
                                         false,
                                         o.threshold}));
}

void mark_executed(caf::message& reply) {
  auto* err = portable::get_if<caf::error>(reply);
  if (!err)
    return;
  auto* context = context_of(*err);
  if (!context)
    return note_on(reply, *err, true);
  auto known = *context;
  known.may_have_executed = true;
  reply = caf::make_message(
    make_error(static_cast<errc>(err->code()), std::move(known)));
}

std::uint16_t threshold_in(const caf::message& reply) {
  auto* err = portable::get_if<caf::error>(reply);
  auto* context = err ? context_of(*err) : nullptr;
  // Another node may say anything.
  return context && *err == errc::shed && context->threshold <= levels_of_calls
           ? context->threshold
           : std::uint16_t{0};
}

caf::message reply_from_below(call_record& r, const outcome& o) {
  auto* err = o.ok ? nullptr : portable::get_if<caf::error>(r.reply);
  if (!err)
    return std::move(r.reply);
  if (!o.own_error) {
    note_on(r.reply, *err, may_have_executed(r));
    return std::move(r.reply);
  }
  auto* context = context_of(*err);
  if (!context && err->context().size() > 0)
    return std::move(r.reply); // The worker's own, which is not to be lost.
  auto known = context ? *context : rejection{};
  if (context && known.may_have_executed == may_have_executed(r)
      && known.from_worker == o.from_worker && known.threshold == 0)
    return std::move(r.reply);
  known.may_have_executed = may_have_executed(r);
  known.from_worker = o.from_worker;
  // It is that of this gate's worker, which its callers do not call.
  known.threshold = 0;
  return caf::make_message(
    make_error(static_cast<errc>(err->code()), std::move(known)));
}

outcome callback_reply(const engine_core& core, call_record& r, std::size_t k,
                       std::string_view what) {
  r.reply = caf::make_message(
    make_error(errc::callback_failed,
               rejection{core.layers[k].owner->name(), duration::zero(),
                         may_have_executed(r), std::string{what}}));
  return outcome_of(r.reply);
}

} // namespace caisson::detail
