// Commands and settings for all keys of a keyed policy.
#include <caisson/policies/keyed/keyed.hpp>

#include <caisson/policies/keyed/keyed_turn.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- changes for all keys -----------------------------------------------------

bool keyed_policy::command(policy_command c, env& e) {
  see(e);
  auto send = [&](policy& p, env& inner) { return p.command(c, inner); };
  if (!turn(*blank_, e, send))
    return false;
  if (c.what == operator_command::reset)
    clear(e);
  else
    order_all(c.what, time_after(e.now, c.time), e);
  return true;
}

void keyed_policy::order_all(operator_command c, time_point until, env& e) {
  news order{.said = c, .until = until, .epoch = epoch_ + 1};
  if (c == operator_command::force_open || c == operator_command::force_closed)
    order_ = order;
  else if (c == operator_command::enable)
    order_.reset();
  send_all(order, e);
}

void keyed_policy::drain(env& e) {
  see(e);
  send_all({.what = news::kind::drained}, e);
}

void keyed_policy::adopt(env& e) {
  see(e);
  news next{.what = news::kind::reconfigured};
  apply(next, *blank_, e);
  sums_.follow(*blank_->machine);
  send_all(next, e);
  shrinking_ = true;
  shrink(e);
  drop_shared();
}

// Those with calls get it at once, as what these wait for may come now.
void keyed_policy::send_all(news c, env& e) {
  note(c);
  blank_->epoch = epoch_;
  if (table_.size() > most_at_once)
    for (auto* x : those_at_work()) {
      catch_up(*x, e);
      update_circuit(*x);
    }
  visit(e);
  if (shared_) {
    catch_up(*shared_, e);
    update_circuit(*shared_);
  }
  chores_at_ = time_after(e.now, pause);
}

// In the order in which they were made.
std::vector<keyed_policy::entry*> keyed_policy::those_at_work() {
  std::vector<entry*> out;
  at_work_.for_each([&](entry& x) { out.push_back(&x); });
  std::sort(out.begin(), out.end(), [](const entry* a, const entry* b) {
    return a->number < b->number;
  });
  return out;
}

// Of changes that come faster than the keys can follow, some are replaced by
// later ones.
void keyed_policy::note(news c) {
  constexpr std::size_t most = 16;
  if (changes_.size() >= most)
    std::erase_if(changes_, [&](const news& x) { return x.what == c.what; });
  c.epoch = ++epoch_;
  changes_.push_back(c);
}

void keyed_policy::apply(const news& c, entry& x, env& e) {
  auto deliver = [&](policy& p, env& inner) {
    switch (c.what) {
      case news::kind::reconfigured:
        return change(x.key, p, inner);
      case news::kind::drained:
        return p.drain(inner);
      case news::kind::ordered:
        if (c.until > e.now)
          p.command({c.said, time_until(c.until, e.now)}, inner);
        else // It has replaced an earlier order, and is over.
          p.command(operator_command::enable, inner);
    }
  };
  // The host reports an order itself.
  turn_as_it_is(x, e, deliver, c.what == news::kind::ordered);
}

void keyed_policy::catch_up(entry& x, env& e) {
  auto known = std::exchange(x.epoch, epoch_);
  for (const auto& c : changes_)
    if (c.epoch > known)
      apply(c, x, e);
}

// Visits keys that may not have followed yet, in rounds.
void keyed_policy::visit(env& e) {
  for (auto left = most_at_once; left > 0 && !changes_.empty();) {
    if (auto* x = table_.next()) {
      catch_up(*x, e);
      update_circuit(*x);
      --left;
    } else if (round_ == epoch_) {
      changes_.clear();
    } else {
      round_ = epoch_;
      table_.visit();
    }
  }
}

// -- what is left to do -------------------------------------------------------

bool keyed_policy::has_chores() const noexcept {
  return !changes_.empty() || !remains_.empty() || shrinking_;
}

void keyed_policy::do_chores(env& e) {
  visit(e);
  shrink(e);
  free_remains();
  chores_at_ = time_after(e.now, pause);
}

void keyed_policy::shrink(env& e) {
  for (auto left = most_at_once; shrinking_ && left > 0; --left)
    shrinking_ = table_.size() > per_key().max_keys && evict(e);
}

// Drops all keys without calls, but frees few of them now.
void keyed_policy::clear(env& e) {
  auto emit = [](policy& p, env& inner) {
    return p.command(operator_command::reset, inner);
  };
  auto reset = [&](entry& x) {
    turn(x, e, emit, true);
    x.admitted = 0;
    update_circuit(x);
  };
  for (auto* x : those_at_work())
    reset(*x);
  if (shared_)
    reset(*shared_);
  auto stay = those_at_work();
  remains_.push_back({table_.split(stay), std::move(idle_), std::move(guarded_),
                      std::move(sums_)});
  changes_.clear();
  round_ = epoch_;
  sums_ = detail::key_sums{*blank_->machine};
  blank_->life = ++life_;
  if (shared_)
    stay.push_back(shared_.get());
  for (auto* x : stay) {
    x->life = life_;
    sums_.add(*x);
  }
  counters_.clear();
  shrinking_ = false;
  free_remains();
  chores_at_ = time_after(e.now, pause);
}

void keyed_policy::free_remains() {
  for (auto left = most_at_once; left > 0 && !remains_.empty();) {
    auto& x = remains_.front();
    if (auto* first = x.table.front()) {
      timers_.cancel(first->timer);
      x.table.erase(*first);
      --left;
    } else if (auto n = x.sums.shed(left); n > 0) {
      left -= n;
    } else {
      remains_.pop_front();
    }
  }
}

} // namespace caisson
