#include <caisson/engine/engine_core.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace caisson::detail {

namespace {

std::optional<std::uint64_t> seed_of_spans(const engine_setup& s) {
  if (!s.secret_seed)
    return std::nullopt;
  return mix_seed(*s.secret_seed ^ 0x7370616e);
}

} // namespace

engine_core::engine_core(engine_host& h, engine_setup s)
  : host(h), config(s.config), supervision(s.supervision),
    adapter(std::move(s.adapter)), dead_letters(s.dead_letters),
    path_key(s.path_key), exact_timers(s.exact_timers), grouped(s.grouped),
    makes_children(s.makes_children), random(s.seed), secrets(s.secret_seed),
    calls(s.layers.size(), secrets.bits()), events(h, s.config.name, calls),
    traces(events, seed_of_spans(s)),
    layers(std::move(s.layers), events, random, secrets), callers(h),
    mailbox(h) {}

void engine_core::schedule(call_record& r) {
  auto due = std::min(r.hold_until, r.deadline);
  if (due == r.timer_at)
    return;
  if (due == never)
    timers.cancel(r.timer);
  else if (r.timer_at == never || !timers.update(r.timer, due))
    r.timer = timers.push(due, r.index);
  r.timer_at = due;
}

void engine_core::answer(call_record& r, caf::message&& content) {
  calls.unindex(r);
  if (r.from.expects_reply())
    host.answer(std::move(r.from), std::move(content));
}

void engine_core::check_totals() const {
  calls.check();
  auto live = static_cast<std::int64_t>(calls.live()) - children;
  CAISSON_ENSURE(totals.begun() == totals.over() + live,
                 "{} calls and requests came in, {} are over, and {} live",
                 totals.begun(), totals.over(), live);
  auto errors = std::accumulate(totals.errors.begin(), totals.errors.end(),
                                std::int64_t{0});
  CAISSON_ENSURE(errors == totals.failed, "{} calls failed, with {} errors",
                 totals.failed, errors);
}

caf::message engine_core::refusal(errc code, std::string text) const {
  return caf::make_message(make_error(
    code, rejection{config.name, duration::zero(), false, std::move(text)}));
}

} // namespace caisson::detail
