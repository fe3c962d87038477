#include <caisson/policies/keyed/keyed_calls.hpp>

namespace caisson::detail {

void keyed_calls::follow_all(key_entry& x, const env& e, std::size_t first) {
  for (auto i = first; i < e.actions.size(); ++i)
    follow(x, e.actions[i]);
}

void keyed_calls::follow(key_entry& x, const env::action& a) {
  using kind = env::action::kind;
  if (a.what == kind::cancel_child) {
    if (children_.erase(a.index) > 0)
      less_busy(x);
  } else if (a.what == kind::resume || a.what == kind::answer) {
    go_on(a.call);
  } else if (a.what == kind::reject && held_.erase(a.call) > 0) {
    let_go_.insert(a.call);
    less_busy(x);
  }
}

void keyed_calls::hold(key_entry& x, call_id call, const env& e,
                       std::size_t first) {
  held_.insert(call);
  for (auto i = first; i < e.actions.size(); ++i)
    if (e.actions[i].call == call)
      follow(x, e.actions[i]);
}

key_entry* keyed_calls::take_child(call_id child) {
  auto i = children_.find(child);
  if (i == children_.end())
    return nullptr;
  auto* x = i->second;
  children_.erase(i);
  CAISSON_ENSURE(x->busy > 0, "a key does not have child {}", child);
  return x;
}

bool keyed_calls::hold_open(key_entry& x, bool on) {
  if (on == std::exchange(x.holds_open, on))
    return false;
  CAISSON_ENSURE(on || (holding_open_ > 0 && x.busy > 0),
                 "{} keys hold the host open", holding_open_);
  on ? ++x.busy : --x.busy;
  on ? ++holding_open_ : --holding_open_;
  return true;
}

} // namespace caisson::detail
