#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

adaptive_limit::adaptive_limit(adaptive_limit_config c)
  : lending_base(std::move(c)), limit_(config_.initial_limit),
    reported_(limit_),
    measuring_(config_.algorithm == limit_algorithm::gradient) {}

// -- calls --------------------------------------------------------------------

decision adaptive_limit::admit(call_info& call, slot& notes, env& e) {
  auto& t = notes.start<trip>();
  t.stay.permits = std::max(call.permits, 1u);
  if (t.stay.permits <= config_.max_limit)
    begin_due_measurement(e);
  return ask(call, notes, e);
}

decision adaptive_limit::complete(call_info& call, slot& notes, outcome& result,
                                  env& e) {
  count(counter::finished);
  learn(end_trip(call, notes.as<trip>(), e), result, e);
  serve(e);
  return decision::pass();
}

void adaptive_limit::abandon(call_info& call, slot& notes, const outcome& why,
                             bool in_flight, env& e) {
  if (!give_up_wait(call, notes, e)) {
    // Also right for a call that was granted its permits and has not gone down
    // yet: the permits are its own from the grant on.
    count(counter::abandoned);
    auto left = end_trip(call, notes.as<trip>(), e);
    if (in_flight)
      learn(left, why, e);
    else // The worker does not have it, or no more.
      count(counter::ignored);
  }
  serve(e);
}

std::int64_t adaptive_limit::limit() const noexcept {
  if (measuring_) [[unlikely]]
    return std::min(limit_, pinned_limit());
  return limit_;
}

// -- permits ------------------------------------------------------------------

std::int64_t adaptive_limit::pinned_limit() const noexcept {
  return config_.algorithm == limit_algorithm::vegas
           ? std::max<std::int64_t>(probe_limit_, config_.min_limit)
           : config_.measure_limit;
}

// If a heavy call had to wait for a limit that only other calls can raise, it
// might wait for ever.
std::int64_t adaptive_limit::free() const noexcept {
  return in_use() == 0 ? detail::partitioned_limit::endless
                       : limit() - in_use();
}

// Whether a call that waits does so because of the limit, and not because its
// partition must not borrow.
bool adaptive_limit::is_reached() const noexcept {
  return !permits_.may_leave_free() || !fits(1);
}

adaptive_limit::departure adaptive_limit::depart(std::uint32_t permits,
                                                 env& e) {
  CAISSON_ENSURE(in_use() <= limit() || in_use() == permits,
                 "{} permits in use, the limit is {}", in_use(), limit());
  used_ = used_ || 2 * in_use() > limit_;
  return {e.now, epoch_};
}

adaptive_limit::departure adaptive_limit::end_trip(const call_info& call,
                                                   trip& t, env& e) {
  give_back(call, t.stay, e.now);
  auto left = t.waited == pooled_list<departure>::none
                ? t.left
                : departures_.erase(t.waited);
  CAISSON_ENSURE(in_use() > 0 || departures_.size() == permits_.waiting(),
                 "{} departures are known, and {} calls wait",
                 departures_.size(), permits_.waiting());
  return left;
}

decision adaptive_limit::pass_down(slot& notes, env& e) {
  auto& t = notes.as<trip>();
  count(counter::passed);
  take_permits(t.stay, e.now);
  t.left = depart(t.stay.permits, e);
  return decision::pass();
}

void adaptive_limit::must_wait() noexcept {
  used_ = used_ || is_reached();
}

std::uint32_t adaptive_limit::begin_wait(slot& notes) {
  auto place = departures_.push_back({});
  CAISSON_ENSURE(departures_.size() > permits_.waiting(),
                 "{} departures of {} calls that wait, and one more",
                 departures_.size(), permits_.waiting());
  return notes.as<trip>().waited = place;
}

void adaptive_limit::lent_to(const waiter& w, env& e) {
  departures_[w.note] = depart(w.permits, e);
}

void adaptive_limit::end_wait(const waiter& w) {
  CAISSON_ENSURE(w.call != 0 && departures_.size() > permits_.waiting(),
                 "{} calls wait, {} departures", permits_.waiting(),
                 departures_.size());
  departures_.erase(w.note);
}

void adaptive_limit::all_served() noexcept {
  // While the limit is pinned, they do not wait for the limit itself.
  used_ = used_ || (!measuring_ && permits_.waiting() > 0 && is_reached());
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
  else if (config_.algorithm != limit_algorithm::aimd)
    adapt_measurement(e);
  if (baseline_)
    baseline_ = std::min(*baseline_, config_.max_baseline);
  adapt_queue(e);
}

void adaptive_limit::forget(env& e) {
  limit_ = reported_ = config_.initial_limit;
  waits_.clear();
  forget_queue(e);
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
  list_queue(out);
  out.push_back({"latency_us", us(latency_), true});
  if (config_.algorithm != limit_algorithm::aimd)
    out.push_back({"baseline_us", us(baseline_), true});
  if (config_.algorithm == limit_algorithm::gradient)
    out.push_back(
      {"gradient_permille", static_cast<std::int64_t>(gradient_ * 1000), true});
  waits_.list(out);
}

} // namespace caisson
