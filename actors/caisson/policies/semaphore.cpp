#include <caisson/policies/semaphore.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/waiting_settings.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, semaphore_config& c) {
  describe_common(v, c);
  v.integer({"permits", "how many permits there are, that is, how many calls "
                        "of weight 1 may be below at the same time"},
            c.permits, {1, 1'000'000});
  v.integer({"max_waiters", "how many calls may wait for a permit; 0: none, a "
                            "call that finds no permit is refused at once"},
            c.max_waiters, {0, 1'000'000});
  v.on({"max_wait", "how long a call may wait; unlimited: until its own "
                    "deadline; 0: not at all, only without `max_waiters`"},
       c.max_wait, {duration::zero(), unlimited});
  v.choice({"order", "whose turn it is: fifo: the oldest waiter, and a full "
                     "queue refuses the newcomer; lifo: the newest waiter, and "
                     "a full queue turns away the oldest"},
           c.order);
}

void check(const semaphore_config& c, const setting_path& path, problems& out) {
  detail::check_waiting(c.max_waiters, c.max_wait, c.order, path, out);
}

// -- construction -------------------------------------------------------------

semaphore::semaphore(semaphore_config c)
  : policy_base(std::move(c)), waiting_(config_.order) {}

// -- calls --------------------------------------------------------------------

decision semaphore::admit(call_info& call, slot& notes, env& e) {
  auto& s = notes.start<stay>({std::max(call.permits, 1u)});
  if (s.permits > config_.permits)
    return refuse(counter::too_heavy, errc::queue_full, call.id, e);
  // In FIFO order permits left free by a queue are kept for the call at its
  // head; in LIFO order the newcomer is the head.
  if (waiting_.newcomer_is_next() && fits(s.permits)) {
    in_use_ += s.permits;
    count(counter::passed);
    return decision::pass();
  }
  return enqueue(call, s, e);
}

decision semaphore::complete(call_info&, slot& notes, outcome&, env& e) {
  count(counter::finished);
  release(notes.as<stay>().permits, e);
  return decision::pass();
}

void semaphore::abandon(call_info& call, slot& notes, const outcome&, bool,
                        env& e) {
  auto& s = notes.as<stay>();
  if (waiting_.waits(s, call.id)) {
    count(counter::gave_up);
    waits_.refused(waiting_.leave(s).waited(e.now));
    // Those behind a heavy call may fit now that it is gone.
    serve(e);
    return;
  }
  // Also right for a call that was granted its permits and has not gone down
  // yet: the permits are its own from the grant on.
  count(counter::abandoned);
  release(s.permits, e);
}

decision semaphore::enqueue(const call_info& call, stay& s, env& e) {
  if (config_.max_waiters == 0)
    return refuse(counter::queue_full, errc::queue_full, call.id, e);
  if (waiting_.size() >= config_.max_waiters) {
    if (config_.order == wait_order::fifo)
      return refuse(counter::queue_full, errc::queue_full, call.id, e);
    // One out for one in: a queue that is too long since `max_waiters` was
    // lowered does not grow, and shrinks only as its calls are served.
    turn_away(waiting_.take_oldest(), counter::evicted, e);
  }
  CAISSON_ENSURE(!waiting_.newcomer_is_next() || !fits(s.permits),
                 "a call waits while {} of {} permits are in use", in_use_,
                 config_.permits);
  count(counter::queued);
  waiting_.join(call.id, s, e.now);
  e.emit_wait(call.id, in_use_, waiting_.size());
  return decision::hold(time_after(e.now, config_.max_wait));
}

void semaphore::serve(env& e) {
  // If the next one does not fit, the others wait as well, although some might:
  // see `wait_order`.
  while (!waiting_.empty() && fits(waiting_.next().permits)) {
    auto w = waiting_.take_next();
    in_use_ += w.permits;
    CAISSON_ENSURE(in_use_ <= config_.permits && w.call != 0,
                   "{} of {} permits in use", in_use_, config_.permits);
    count(counter::granted);
    waits_.granted(w.waited(e.now));
    e.emit(
      {.kind = event_kind::granted, .call = w.call, .delay = w.waited(e.now)});
    e.resume(w.call);
  }
}

void semaphore::release(std::uint32_t permits, env& e) {
  CAISSON_ENSURE(permits > 0 && in_use_ >= permits,
                 "{} permits come back, {} are in use", permits, in_use_);
  in_use_ -= permits;
  serve(e);
}

void semaphore::turn_away(const waiting_queue::entry& w, counter why, env& e) {
  e.reject(w.call, errc::queue_full);
  refuse_waiter(w, why, errc::queue_full, e);
}

decision semaphore::refuse_waiter(const waiting_queue::entry& w, counter why,
                                  errc code, env& e) {
  auto waited = w.waited(e.now);
  waits_.refused(waited);
  return refuse(why, code, w.call, e, duration::zero(),
                detail::wait_text(waited));
}

bool semaphore::fits(std::uint32_t permits) const noexcept {
  return in_use_ + permits <= config_.permits;
}

// -- time ---------------------------------------------------------------------

decision semaphore::expire(call_info& call, slot& notes, env& e) {
  auto& s = notes.as<stay>();
  // A grant at the same instant wins: the call has its permits.
  if (!waiting_.waits(s, call.id))
    return decision::pass();
  auto w = waiting_.leave(s);
  serve(e);
  return refuse_waiter(w, counter::timed_out, errc::wait_timeout, e);
}

// -- operation ----------------------------------------------------------------

void semaphore::adapt(env& e) {
  waiting_.reorder(config_.order);
  waiting_.take_heavier(config_.permits, [&](const waiting_queue::entry& w) {
    turn_away(w, counter::outgrown, e);
  });
  serve(e);
}

void semaphore::list_gauges(std::vector<metric>& out) const {
  out.push_back({"permits", config_.permits, true});
  out.push_back({"in_use", in_use_, true});
  out.push_back({"waiting", static_cast<std::int64_t>(waiting_.size()), true});
  waits_.list(out);
}

void semaphore::forget(env&) {
  waits_.clear();
}

} // namespace caisson
