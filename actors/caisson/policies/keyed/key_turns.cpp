#include <caisson/policies/keyed/key_turns.hpp>

namespace caisson::detail {

// -- one key ------------------------------------------------------------------

void key_turns::begin(key_entry& x, env& e) {
  x.epoch = changes_.epoch();
  if (const auto* order = changes_.order_at(e.now))
    apply(*order, x, e);
}

void key_turns::apply(const key_change& c, key_entry& x, env& e) {
  using kind = key_change::kind;
  auto deliver = [&](policy& p, env& inner) {
    switch (c.what) {
      case kind::reconfigured:
        return kind_.change(x.key, p, inner);
      case kind::drained:
        return p.drain(inner);
      case kind::ordered:
        if (c.until > e.now)
          p.command({c.command, time_until(c.until, e.now)}, inner);
        else // It has replaced an earlier order, and is over.
          p.command(operator_command::enable, inner);
    }
  };
  // The host reports an order itself.
  turn_without_catch_up(x, e, deliver, c.what == kind::ordered);
}

void key_turns::follow(key_entry& x, env& e) {
  changes_.catch_up(x, [&](const key_change& c) { apply(c, x, e); });
}

void key_turns::follow_and_rest(key_entry& x, env& e) {
  follow(x, e);
  keys_.update_circuit(x);
}

// -- all keys -----------------------------------------------------------------

void key_turns::order(const policy_command& c, env& e) {
  send_all(changes_.order(c.what, time_after(e.now, c.time)), e);
}

void key_turns::drain(env& e) {
  send_all({.what = key_change::kind::drained}, e);
}

void key_turns::reconfigure(env& e) {
  key_change next{.what = key_change::kind::reconfigured};
  apply(next, keys_.blank(), e);
  keys_.follow_blank();
  send_all(next, e);
}

// Those with calls get it at once, as what these wait for may come now.
void key_turns::send_all(const key_change& c, env& e) {
  changes_.add(c);
  keys_.blank().epoch = changes_.epoch();
  if (keys_.size() > key_pace::most_at_once)
    for (auto* x : keys_.busy_entries())
      follow_and_rest(*x, e);
  visit(e);
  if (auto* x = keys_.shared())
    follow_and_rest(*x, e);
}

void key_turns::visit(env& e) {
  changes_.visit(keys_, key_pace::most_at_once,
                 [&](key_entry& x) { follow_and_rest(x, e); });
}

} // namespace caisson::detail
