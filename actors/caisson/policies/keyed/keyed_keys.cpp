#include <caisson/policies/keyed/keyed_keys.hpp>

#include <caisson/base/ensure.hpp>

#include <utility>

namespace caisson::detail {

void keyed_keys::start(std::unique_ptr<policy> blank) {
  blank_ = std::make_unique<key_entry>(std::string{}, std::move(blank));
  sums_ = key_sums{*blank_->machine};
}

std::vector<key_entry*> keyed_keys::busy_entries() {
  std::vector<key_entry*> out;
  at_work_.for_each([&](key_entry& x) { out.push_back(&x); });
  std::sort(out.begin(), out.end(), [](const key_entry* a, const key_entry* b) {
    return a->number < b->number;
  });
  return out;
}

// -- coming and going ---------------------------------------------------------

key_entry& keyed_keys::add(std::unique_ptr<key_entry> entry,
                           random_source& random) {
  auto& x = *entry;
  if (x.key.empty())
    shared_ = std::move(entry);
  else
    table_.add(std::move(entry), random);
  x.life = life_;
  sums_.add(x);
  return x;
}

// An entry without calls goes to the end of its list.
void keyed_keys::reposition(key_entry& x) {
  if (&x == shared_.get())
    return drop_shared();
  auto at_work = x.busy > 0;
  static_cast<link<by_use>&>(x).unlink();
  x.at_work = at_work;
  if (at_work)
    return at_work_.push_back(x);
  x.used = clock_;
  x.guarded = is_guarded(x);
  (x.guarded ? guarded_ : idle_).push_back(x);
}

void keyed_keys::update_circuit(key_entry& x) {
  auto linked = static_cast<link<by_use>&>(x).linked();
  if (!linked || x.at_work || x.busy > 0 || is_guarded(x) != x.guarded)
    rest(x);
}

// A circuit that is worse than that of a new key would come back closed.
bool keyed_keys::is_guarded(const key_entry& x) const {
  return x.machine->circuit(x.key) > blank_->machine->circuit({});
}

void keyed_keys::drop(key_entry& x) {
  CAISSON_ENSURE(x.busy == 0 && !x.at_work, "a key has {} calls", x.busy);
  CAISSON_ENSURE(x.life == life_ && x.used <= clock_,
                 "a key was dropped by a reset");
  sums_.remove(x);
  timers_.cancel(x.timer);
  table_.erase(x);
}

void keyed_keys::drop_shared() {
  if (!shared_ || shared_->busy > 0 || allows_shared_)
    return;
  sums_.remove(*shared_);
  timers_.cancel(shared_->timer);
  shared_.reset();
}

void keyed_keys::clear() {
  auto stay = busy_entries();
  const auto before = table_.size();
  dropped_.push_back({table_.split(stay), std::move(idle_), std::move(guarded_),
                      std::move(sums_)});
  CAISSON_ENSURE(table_.size() == stay.size()
                   && dropped_.back().table.size() + stay.size() == before,
                 "{} keys stay of {}, and {} have calls", table_.size(), before,
                 stay.size());
  sums_ = key_sums{*blank_->machine};
  blank_->life = ++life_;
  if (shared_)
    stay.push_back(shared_.get());
  for (auto* x : stay) {
    x->life = life_;
    sums_.add(*x);
  }
}

void keyed_keys::free_dropped(std::size_t most) {
  for (auto left = most; left > 0 && !dropped_.empty();) {
    auto& x = dropped_.front();
    if (auto* first = x.table.front()) {
      timers_.cancel(first->timer);
      x.table.erase(*first);
      --left;
    } else if (auto n = x.sums.shed(left); n > 0) {
      left -= n;
    } else {
      dropped_.pop_front();
    }
  }
}

// -- time ---------------------------------------------------------------------

void keyed_keys::set_timer(key_entry& x, time_point at) {
  x.wake_at = at;
  if (at == never)
    timers_.cancel(x.timer);
  else if (!timers_.update(x.timer, at))
    x.timer = timers_.push(at, &x);
}

std::optional<key_entry*> keyed_keys::pop_due(time_point now) {
  auto due = timers_.pop_due(now);
  if (!due)
    return std::nullopt;
  auto& x = **due;
  if (x.life != life_)
    return nullptr;
  CAISSON_ENSURE(x.wake_at <= now, "a key is woken too early");
  x.wake_at = never;
  return &x;
}

time_point keyed_keys::next_expiry(duration idle) const {
  auto next = never;
  for (const auto* list : {&idle_, &guarded_})
    if (!list->empty())
      next = std::min(next, time_after(list->front().used, idle));
  return next;
}

// -- reports ------------------------------------------------------------------

const key_entry& keyed_keys::worst() const {
  if (const auto* x = sums_.worst())
    return *x;
  if (const auto* x = table_.front())
    return *x;
  return shared_ ? *shared_ : *blank_;
}

std::vector<key_report> keyed_keys::busiest(std::size_t n) const {
  std::vector<key_report> out;
  for (const auto* x : sums_.busiest(n)) {
    out.push_back({x->key, x->machine->state(), x->admitted, {}});
    x->machine->list_metrics(out.back().metrics);
  }
  return out;
}

} // namespace caisson::detail
