// How an adaptive limit learns from the outcomes of calls.
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policies/adaptive_limit/limit_steps.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace caisson {

namespace {

// A product such as 100 * 0.29 can miss a whole number by a rounding error.
constexpr double share_rounding = 1e-9;

} // namespace

// -- signs --------------------------------------------------------------------

adaptive_limit::sign adaptive_limit::judge(const outcome& o, duration took,
                                           env& e) const {
  if (config_.classify.is_plain_success(o) && !o.own_error) [[likely]]
    return sign_of_success(took);
  return judge_with_care(o, took, e);
}

adaptive_limit::sign
adaptive_limit::sign_of_success(duration took) const noexcept {
  return config_.algorithm == limit_algorithm::aimd && took >= config_.timeout
           ? sign::slow
           : sign::sample;
}

adaptive_limit::sign
adaptive_limit::judge_with_care(const outcome& o, duration took, env& e) const {
  // Whatever the lists say: it has no outcome.
  if (o.neutral || o.is(errc::cancelled))
    return sign::none;
  switch (config_.classify.judge(o, count_lists, e)) {
    case verdict::success:
      return sign_of_success(took);
    case verdict::failure:
    case verdict::transient:
      return sign::drop;
    case verdict::refused:
      // By the worker itself, as it says, and not by a layer on the way.
      if (o.kind == answer_class::shed && !config_.classify.by_value)
        return sign::drop;
      break;
    case verdict::neutral:
      break;
  }
  return sign::none;
}

void adaptive_limit::learn(const departure& left, const outcome& o, env& e) {
  auto took = time_until(e.now, left.at);
  auto what = judge(o, took, e);
  if (what == sign::none)
    return count(counter::ignored);
  // What began before the limit was pinned met the load of that time.
  if (measuring_ && left.epoch != epoch_)
    return count(counter::stale);
  if (outcomes() == 0)
    window_began_ = e.now;
  if (what == sign::sample) {
    count(counter::sampled);
    latencies_.record(took);
  } else {
    count(what == sign::slow ? counter::slow : counter::dropped);
    ++drops_;
  }
  if (measuring_) {
    if (latencies_.count() >= config_.measure_samples)
      end_measurement(e);
  } else if (outcomes() >= config_.min_samples
             && e.now >= time_after(window_began_, config_.window)) {
    close_window(e);
  }
}

// -- windows ------------------------------------------------------------------

void adaptive_limit::clear_window() noexcept {
  latencies_.clear();
  drops_ = 0;
  used_ = 2 * in_use() > limit_;
}

void adaptive_limit::close_window(env& e) {
  auto all = static_cast<double>(outcomes());
  results w{.latency = latencies_.quantile(config_.quantile),
            .samples = static_cast<std::int64_t>(latencies_.count()),
            .dropped = static_cast<double>(drops_)
                       > config_.drop_share * all + share_rounding};
  if (w.latency)
    latency_ = w.latency;
  auto next = next_limit(w, e);
  if (w.dropped)
    next = std::min(next, detail::backed_off_limit(limit_, config_.backoff));
  auto idle = next > limit_ && !used_;
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
  constexpr auto too_many_misfits = 5;
  // Not one measurement after the other: one that does not help has ended not
  // long ago.
  if (misfits_ >= too_many_misfits
      && e.now >= time_after(measured_at_, config_.measure_at_most)) {
    count(counter::early);
    measure("the baseline does not fit", e);
  }
}

std::int64_t adaptive_limit::next_limit(const results& w, env& e) {
  if (config_.algorithm == limit_algorithm::aimd)
    return limit_ + 1;
  if (!w.latency)
    return limit_;
  return config_.algorithm == limit_algorithm::vegas
           ? next_by_vegas(w, e)
           : next_by_gradient(*w.latency);
}

std::int64_t adaptive_limit::next_by_vegas(const results& w, env& e) {
  since_probe_ += w.samples;
  if (!baseline_) {
    delay_share_ = e.random.uniform(0, config_.jitter);
    since_probe_ = 0;
  }
  auto shorter = !baseline_ || *w.latency < *baseline_;
  if (shorter)
    accept_baseline(*w.latency);
  CAISSON_ENSURE(*baseline_ <= *w.latency,
                 "a latency of {} ns is shorter than the baseline, {} ns",
                 w.latency->count(), baseline_->count());
  auto queued = detail::queued_calls(limit_, *baseline_, *w.latency);
  CAISSON_ENSURE(queued >= 0 && queued <= limit_, "{} of {} calls queue",
                 queued, limit_);
  // By the present limit: one that has collapsed lets few samples through.
  auto enough = static_cast<double>(config_.probe) * static_cast<double>(limit_)
                * (1 - delay_share_);
  if (static_cast<double>(since_probe_) >= enough && !draining_) {
    plan_probe(queued, e);
    return limit_;
  }
  return shorter
           ? limit_
           : detail::vegas_limit(limit_, queued, config_.alpha, config_.beta);
}

// With all calls in flight that seem to queue, the latency of now would become
// that without load, and so many more would queue then. Those that queue
// unnoticed, as the baseline is too long already, are reduced by `backoff` each
// time. Half of the limit stays: where latencies differ much, calls seem to
// queue that do not.
void adaptive_limit::plan_probe(std::int64_t queued, env& e) {
  count(counter::probed);
  since_probe_ = 0;
  probe_limit_ = std::max(
    detail::backed_off_limit(limit_ - queued, config_.backoff), limit_ / 2);
  CAISSON_ENSURE(probe_limit_ <= limit_, "{} calls are the probe of {}",
                 probe_limit_, limit_);
  measure_at_ = e.now;
}

std::int64_t adaptive_limit::next_by_gradient(duration latency) {
  if (!baseline_)
    accept_baseline(latency);
  CAISSON_ENSURE(*baseline_ <= config_.max_baseline,
                 "a baseline of {} ns, {} at most", baseline_->count(),
                 config_.max_baseline.count());
  gradient_ = detail::limit_gradient(*baseline_, latency, config_.buffer);
  auto next = detail::gradient_limit(limit_, gradient_);
  // At the floor the latency is not the fault of these calls, and a latency far
  // below the baseline shows that this was measured in worse times.
  auto at_floor = next <= config_.min_limit
                  || (gradient_ <= detail::least_gradient && next >= limit_);
  auto far_below = 2 * latency <= *baseline_;
  auto fits = !at_floor && !far_below;
  misfits_ = fits ? 0 : misfits_ + 1;
  return next;
}

void adaptive_limit::accept_baseline(duration d) {
  if (d > config_.max_baseline)
    count(counter::capped);
  baseline_ = std::min(d, config_.max_baseline);
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
  e.emit({.kind = event_kind::limit_changed,
          .from = from,
          .to = std::to_string(limit_),
          .detail = fmt::format("latency {}, {} of {} dropped",
                                rounded_text(latency_.value_or(duration{})),
                                drops_, outcomes())});
}

// -- measurements -------------------------------------------------------------

void adaptive_limit::begin_measurement(env& e) {
  // An open window is not thrown away: the measurement follows it.
  if (!measuring_ && e.now >= measure_at_ && outcomes() == 0)
    measure("the baseline is old", e);
  if (measuring_ && measure_until_ == never)
    measure_until_ = time_after(e.now, config_.measure_at_most);
}

void adaptive_limit::measure(std::string_view why, env& e) {
  CAISSON_ENSURE(!measuring_ && !draining_, "a measurement begins within one");
  ++epoch_;
  measure_until_ = time_after(e.now, config_.measure_at_most);
  measure_at_ = never;
  misfits_ = 0;
  move_to(true, why, e);
}

void adaptive_limit::end_measurement(env& e) {
  auto n = latencies_.count();
  auto least = std::min(config_.min_samples, config_.measure_samples);
  if (n >= least) {
    count(counter::measured);
    accept_baseline(*latencies_.quantile(config_.quantile));
    adjust(fmt::format("{} samples: {}", n, rounded_text(*baseline_)), e);
  } else {
    count(counter::unmeasured);
    adjust(fmt::format("{} samples are too few", n), e);
  }
}

void adaptive_limit::adjust(std::string_view why, env& e) {
  CAISSON_ENSURE(measuring_, "a measurement ends that has not begun");
  measured_at_ = e.now;
  delay_share_ = e.random.uniform(0, config_.jitter);
  set_due_time();
  move_to(false, why, e);
}

void adaptive_limit::set_due_time() noexcept {
  // In a drain there are no new calls that would be measured. Vegas counts
  // samples.
  measure_at_ = draining_ || config_.measure_every == unlimited
                    || config_.algorithm != limit_algorithm::gradient
                  ? never
                  : time_after(
                    measured_at_,
                    duration_times(config_.measure_every, 1 + delay_share_));
}

// Settings of measurements have changed.
void adaptive_limit::adapt_measurement(env& e) {
  if (!measuring_)
    return set_due_time();
  if (measure_until_ != never)
    measure_until_ = std::min(measure_until_,
                              time_after(e.now, config_.measure_at_most));
  if (latencies_.count() >= config_.measure_samples)
    end_measurement(e);
}

void adaptive_limit::move_to(bool measuring, std::string_view why, env& e) {
  auto from = state();
  measuring_ = measuring;
  clear_window();
  if (from != state())
    e.emit({.kind = event_kind::state_changed,
            .from = from,
            .to = state(),
            .detail = why});
}

void adaptive_limit::restart_algorithm(std::string_view why, env& e) {
  baseline_.reset();
  latency_.reset();
  gradient_ = 1;
  misfits_ = 0;
  since_probe_ = 0;
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

} // namespace caisson
