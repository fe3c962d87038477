#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

adaptive_limit::adaptive_limit(adaptive_limit_config c)
  : policy_base(std::move(c)), waiting_(config_.order),
    limit_(config_.initial_limit), reported_(limit_),
    measuring_(config_.algorithm == limit_algorithm::gradient) {}

// -- calls --------------------------------------------------------------------

decision adaptive_limit::admit(call_info& call, slot& notes, env& e) {
  auto& t = notes.start<trip>();
  t.stay.permits = std::max(call.permits, 1u);
  if (t.stay.permits > config_.max_limit)
    return refuse(counter::too_heavy, errc::queue_full, call.id, e);
  begin_due_measurement(e);
  if (waiting_.newcomer_is_next() && fits(t.stay.permits)) {
    count(counter::passed);
    t.left = lend(t.stay.permits, e);
    return decision::pass();
  }
  used_ = true;
  return enqueue(call, t, e);
}

decision adaptive_limit::complete(call_info&, slot& notes, outcome& result,
                                  env& e) {
  count(counter::finished);
  learn(end_trip(notes.as<trip>()), result, e);
  serve(e);
  return decision::pass();
}

void adaptive_limit::abandon(call_info& call, slot& notes, const outcome& why,
                             bool in_flight, env& e) {
  auto& t = notes.as<trip>();
  if (waiting_.waits(t.stay, call.id)) {
    count(counter::gave_up);
    departures_.erase(t.waited);
    waits_.refused(waiting_.leave(t.stay).waited(e.now));
  } else {
    // Also right for a call that was granted its permits and has not gone down
    // yet: the permits are its own from the grant on.
    count(counter::abandoned);
    auto left = end_trip(t);
    if (in_flight)
      learn(left, why, e);
    else // The worker does not have it, or no more.
      count(counter::ignored);
  }
  serve(e);
}

std::int64_t adaptive_limit::limit() const noexcept {
  return measuring_ ? std::min<std::int64_t>(limit_, config_.measure_limit)
                    : limit_;
}

// -- permits ------------------------------------------------------------------

// If a heavy call had to wait for a limit that only other calls can raise, it
// might wait for ever.
bool adaptive_limit::fits(std::uint32_t permits) const noexcept {
  return in_use_ == 0 || in_use_ + permits <= limit();
}

adaptive_limit::departure adaptive_limit::lend(std::uint32_t permits, env& e) {
  in_use_ += permits;
  CAISSON_ENSURE(in_use_ <= limit() || in_use_ == permits,
                 "{} permits in use, the limit is {}", in_use_, limit());
  used_ = used_ || 2 * in_use_ > limit_;
  return {e.now, epoch_};
}

void adaptive_limit::give_back(std::uint32_t permits) {
  CAISSON_ENSURE(permits > 0 && in_use_ >= permits,
                 "{} permits come back, {} are in use", permits, in_use_);
  in_use_ -= permits;
}

adaptive_limit::departure adaptive_limit::end_trip(trip& t) {
  give_back(t.stay.permits);
  auto left = t.waited == pooled_list<departure>::none
                ? t.left
                : departures_.erase(t.waited);
  CAISSON_ENSURE(in_use_ > 0 || departures_.size() == waiting_.size(),
                 "{} departures are known, and {} calls wait",
                 departures_.size(), waiting_.size());
  return left;
}

decision adaptive_limit::enqueue(const call_info& call, trip& t, env& e) {
  if (config_.max_waiters == 0)
    return refuse(counter::queue_full, errc::queue_full, call.id, e);
  if (waiting_.size() >= config_.max_waiters) {
    if (config_.order == wait_order::fifo)
      return refuse(counter::queue_full, errc::queue_full, call.id, e);
    // One out for one in, as at a semaphore.
    turn_away(waiting_.take_oldest(), counter::evicted, e);
  }
  count(counter::queued);
  t.waited = departures_.push_back({});
  waiting_.join(call.id, t.stay, e.now, t.waited);
  e.emit_wait(call.id, static_cast<std::size_t>(in_use_), waiting_.size());
  return decision::hold(time_after(e.now, config_.max_wait));
}

void adaptive_limit::serve(env& e) {
  // If the next one does not fit, the others wait as well.
  while (!waiting_.empty() && fits(waiting_.next().permits)) {
    auto w = waiting_.take_next();
    departures_[w.note] = lend(w.permits, e);
    count(counter::granted);
    waits_.granted(w.waited(e.now));
    e.emit(
      {.kind = event_kind::granted, .call = w.call, .delay = w.waited(e.now)});
    e.resume(w.call);
  }
  // While the limit is pinned, they do not wait for the limit itself.
  used_ = used_ || (!measuring_ && !waiting_.empty());
}

void adaptive_limit::turn_away(const waiting_queue::entry& w, counter why,
                               env& e) {
  e.reject(w.call, errc::queue_full);
  refuse_waiter(w, why, errc::queue_full, e);
}

decision adaptive_limit::refuse_waiter(const waiting_queue::entry& w,
                                       counter why, errc code, env& e) {
  CAISSON_ENSURE(w.call != 0 && departures_.size() > waiting_.size(),
                 "{} calls wait, {} departures", waiting_.size(),
                 departures_.size());
  departures_.erase(w.note);
  auto waited = w.waited(e.now);
  waits_.refused(waited);
  return refuse(why, code, w.call, e, duration::zero(),
                detail::wait_text(waited));
}

// -- time ---------------------------------------------------------------------

decision adaptive_limit::expire(call_info& call, slot& notes, env& e) {
  auto& t = notes.as<trip>();
  // A grant at the same instant wins: the call has its permits.
  if (!waiting_.waits(t.stay, call.id))
    return decision::pass();
  auto w = waiting_.leave(t.stay);
  serve(e);
  return refuse_waiter(w, counter::timed_out, errc::wait_timeout, e);
}

// -- operation ----------------------------------------------------------------

std::string_view adaptive_limit::state() const {
  return measuring_ ? "measuring" : "adjusting";
}

void adaptive_limit::prepare(adaptive_limit_config& next, env&) {
  other_algorithm_ = next.algorithm != config_.algorithm;
}

void adaptive_limit::adapt(env& e) {
  // What an operator sets is reported by the host.
  limit_ = std::clamp<std::int64_t>(limit_, config_.min_limit,
                                    config_.max_limit);
  reported_ = limit_;
  if (other_algorithm_)
    restart_algorithm("another algorithm", e);
  else if (config_.algorithm == limit_algorithm::gradient)
    adapt_measurement(e);
  if (baseline_)
    baseline_ = std::min(*baseline_, config_.max_baseline);
  waiting_.reorder(config_.order);
  waiting_.take_heavier(config_.max_limit, [&](const waiting_queue::entry& w) {
    turn_away(w, counter::outgrown, e);
  });
  serve(e);
}

void adaptive_limit::forget(env& e) {
  limit_ = reported_ = config_.initial_limit;
  waits_.clear();
  restart_algorithm("reset", e);
  serve(e);
}

void adaptive_limit::list_gauges(std::vector<metric>& out) const {
  auto us = [](const std::optional<duration>& d) -> std::int64_t {
    using std::chrono::microseconds;
    return std::chrono::duration_cast<microseconds>(d.value_or(duration{}))
      .count();
  };
  out.push_back({"limit", limit(), true});
  out.push_back({"in_use", in_use_, true});
  out.push_back({"waiting", static_cast<std::int64_t>(waiting_.size()), true});
  out.push_back({"latency_us", us(latency_), true});
  if (config_.algorithm != limit_algorithm::aimd)
    out.push_back({"baseline_us", us(baseline_), true});
  if (config_.algorithm == limit_algorithm::gradient)
    out.push_back(
      {"gradient_permille", static_cast<std::int64_t>(gradient_ * 1000), true});
  waits_.list(out);
}

} // namespace caisson
