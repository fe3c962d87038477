#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policies/adaptive_limit/limit_signs.hpp>
#include <caisson/policies/adaptive_limit/limit_steps.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

adaptive_limit::adaptive_limit(adaptive_limit_config c)
  : lending_base(std::move(c)), limit_(config_.initial_limit),
    reported_(limit_),
    measuring_(config_.algorithm == limit_algorithm::gradient) {}

// -- calls --------------------------------------------------------------------

decision adaptive_limit::admit(call_info& call, slot& notes, env& e) {
  auto& saved = notes.start<call_state>();
  saved.stay.permits = std::max(call.permits, 1u);
  if (saved.stay.permits <= config_.max_limit)
    begin_due_measurement(e);
  return ask(call, notes, e);
}

decision adaptive_limit::complete(call_info& call, slot& notes, outcome& result,
                                  env& e) {
  count(counter::finished);
  learn(end_call(call, notes.as<call_state>(), e), result, e);
  serve(e);
  return decision::pass();
}

void adaptive_limit::abandon(call_info& call, slot& notes, const outcome& why,
                             bool in_flight, env& e) {
  if (!give_up_wait(call, notes, e)) {
    // Also right for a call that was granted its permits and has not gone down
    // yet: the permits are its own from the grant on.
    count(counter::abandoned);
    auto left = end_call(call, notes.as<call_state>(), e);
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
           ? std::max<std::int64_t>(model_.probe_limit(), config_.min_limit)
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
  window_.use(in_use(), limit_);
  return {e.now, epoch_};
}

adaptive_limit::departure adaptive_limit::end_call(const call_info& call,
                                                   call_state& saved, env& e) {
  give_back(call, saved.stay, e.now);
  auto left = saved.waited == pooled_list<departure>::none
                ? saved.left
                : departures_.erase(saved.waited);
  CAISSON_ENSURE(in_use() > 0 || departures_.size() == permits_.waiting(),
                 "{} departures are known, and {} calls wait",
                 departures_.size(), permits_.waiting());
  return left;
}

decision adaptive_limit::pass_down(slot& notes, env& e) {
  auto& saved = notes.as<call_state>();
  count(counter::passed);
  take_permits(saved.stay, e.now);
  saved.left = depart(saved.stay.permits, e);
  return decision::pass();
}

void adaptive_limit::must_wait() noexcept {
  if (!window_.used() && is_reached())
    window_.use();
}

std::uint32_t adaptive_limit::begin_wait(slot& notes) {
  auto place = departures_.push_back({});
  CAISSON_ENSURE(departures_.size() > permits_.waiting(),
                 "{} departures of {} calls that wait, and one more",
                 departures_.size(), permits_.waiting());
  return notes.as<call_state>().waited = place;
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
  if (!measuring_ && permits_.waiting() > 0 && is_reached())
    window_.use();
}

// -- windows ------------------------------------------------------------------

void adaptive_limit::learn(const departure& left, const outcome& o, env& e) {
  using sign = detail::limit_sign;
  auto took = time_until(e.now, left.at);
  auto what = detail::sign_of(config_, o, took, e);
  if (what == sign::none)
    return count(counter::ignored);
  // What began before the limit was pinned met the load of that time.
  if (measuring_ && left.epoch != epoch_)
    return count(counter::stale);
  if (what == sign::sample) {
    count(counter::sampled);
    window_.add_sample(took, e.now);
  } else {
    count(what == sign::slow ? counter::slow : counter::dropped);
    window_.add_drop(e.now);
  }
  if (measuring_) {
    if (window_.samples() >= config_.measure_samples)
      end_measurement(e);
  } else if (window_.is_over(config_, e.now)) {
    close_window(e);
  }
}

void adaptive_limit::close_window(env& e) {
  auto w = window_.sums(config_);
  auto next = next_limit(w, e);
  if (w.dropped)
    next = std::min(next, detail::backed_off_limit(limit_, config_.backoff));
  auto idle = next > limit_ && !window_.used();
  next = idle ? limit_
              : std::clamp<std::int64_t>(next, config_.min_limit,
                                         config_.max_limit);
  count(idle            ? counter::unused
        : w.dropped     ? counter::backed_off
        : next > limit_ ? counter::raised
        : next < limit_ ? counter::lowered
                        : counter::kept);
  move_limit(next, e);
  clear_window();
  if (draining_)
    return;
  if (e.now >= measure_at_)
    return measure("the baseline is old", e);
  // Not one measurement after the other: one that does not help has ended not
  // long ago.
  if (model_.misfits()
      && e.now >= time_after(measured_at_, config_.measure_at_most)) {
    count(counter::early);
    measure("the baseline does not fit", e);
  }
}

std::int64_t adaptive_limit::next_limit(const detail::limit_window::results& w,
                                        env& e) {
  auto x = model_.follow(w, limit_, !draining_, config_, e);
  if (x.capped)
    count(counter::capped);
  if (x.probes) {
    count(counter::probed);
    measure_at_ = e.now;
  }
  return x.limit;
}

void adaptive_limit::move_limit(std::int64_t next, env& e) {
  limit_ = next;
  CAISSON_ENSURE(limit_ >= config_.min_limit && limit_ <= config_.max_limit,
                 "the limit is {}, allowed: {} to {}", limit_,
                 config_.min_limit, config_.max_limit);
  constexpr auto much = 4;
  auto change = limit_ > reported_ ? limit_ - reported_ : reported_ - limit_;
  if (change == 0 || change * much < reported_)
    return;
  auto from = std::to_string(std::exchange(reported_, limit_));
  e.emit(
    {.kind = event_kind::limit_changed,
     .from = from,
     .to = std::to_string(limit_),
     .detail = fmt::format("latency {}, {} of {} dropped",
                           rounded_text(model_.latency().value_or(duration{})),
                           window_.drops(), window_.outcomes())});
}

// -- measurements -------------------------------------------------------------

void adaptive_limit::begin_measurement(env& e) {
  // An open window is not thrown away: the measurement follows it.
  if (!measuring_ && e.now >= measure_at_ && window_.outcomes() == 0)
    measure("the baseline is old", e);
  if (measuring_ && measure_until_ == never)
    measure_until_ = time_after(e.now, config_.measure_at_most);
}

void adaptive_limit::measure(std::string_view why, env& e) {
  ++epoch_;
  measure_until_ = time_after(e.now, config_.measure_at_most);
  measure_at_ = never;
  model_.forget_misfits();
  move_to(true, why, e);
}

void adaptive_limit::end_measurement(env& e) {
  auto n = window_.samples();
  auto least = std::min(config_.min_samples, config_.measure_samples);
  if (n >= least) {
    count(counter::measured);
    if (model_.accept_baseline(*window_.latency(config_), config_))
      count(counter::capped);
    adjust(fmt::format("{} samples: {}", n, rounded_text(*model_.baseline())),
           e);
  } else {
    count(counter::unmeasured);
    adjust(fmt::format("{} samples are too few", n), e);
  }
}

void adaptive_limit::adjust(std::string_view why, env& e) {
  measured_at_ = e.now;
  model_.draw_delay(config_, e);
  set_due_time();
  move_to(false, why, e);
}

void adaptive_limit::set_due_time() noexcept {
  // In a drain there are no new calls that would be measured. Vegas counts
  // samples.
  measure_at_ = draining_ || config_.measure_every == unlimited
                    || config_.algorithm != limit_algorithm::gradient
                  ? never
                  : time_after(measured_at_,
                               duration_times(config_.measure_every,
                                              1 + model_.delay_share()));
}

// Settings of measurements have changed.
void adaptive_limit::adapt_measurement(env& e) {
  if (!measuring_)
    return set_due_time();
  if (measure_until_ != never)
    measure_until_ = std::min(measure_until_,
                              time_after(e.now, config_.measure_at_most));
  if (window_.samples() >= config_.measure_samples)
    end_measurement(e);
}

void adaptive_limit::move_to(bool measuring, std::string_view why, env& e) {
  auto from = state();
  measuring_ = measuring;
  clear_window();
  e.emit_change(from, state(), why);
}

void adaptive_limit::restart_algorithm(std::string_view why, env& e) {
  model_.clear();
  ++epoch_;
  measure_at_ = never;
  // Those that wait must not wait for a call that never comes.
  measure_until_ = in_use() > 0 || permits_.waiting() > 0
                     ? time_after(e.now, config_.measure_at_most)
                     : never;
  move_to(config_.algorithm == limit_algorithm::gradient && !draining_, why, e);
}

// -- time ---------------------------------------------------------------------

void adaptive_limit::wake(env& e) {
  if (!measuring_ || e.now < measure_until_)
    return;
  end_measurement(e);
  serve(e);
}

void adaptive_limit::drain(env& e) {
  draining_ = true;
  if (measuring_)
    adjust("drain", e);
  set_due_time();
  serve(e);
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
  model_.cap_baseline(config_);
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
  out.push_back({"latency_us", us(model_.latency()), true});
  if (config_.algorithm != limit_algorithm::aimd)
    out.push_back({"baseline_us", us(model_.baseline()), true});
  if (config_.algorithm == limit_algorithm::gradient)
    out.push_back({"gradient_permille",
                   static_cast<std::int64_t>(model_.gradient() * 1000), true});
  waits_.list(out);
}

} // namespace caisson
