#include <caisson/detail/engine_core.hpp>

#include <caisson/error.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

engine_core::engine_core(engine_host& h, engine_setup s)
  : host(h), config(s.config), supervision(s.supervision),
    adapter(std::move(s.adapter)), path_key(s.path_key),
    exact_timers(s.exact_timers), grouped(s.grouped), random(s.seed),
    secrets(s.secret_seed), events(h, s.config.name),
    layers(std::move(s.layers), events, random),
    calls(layers.size(), secrets.bits()), callers(h) {}

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

caf::message engine_core::refusal(errc code, std::string text) const {
  return caf::make_message(make_error(
    code, rejection{config.name, duration::zero(), false, std::move(text)}));
}

} // namespace caisson::detail
