#include <caisson/policies/adaptive_limit/worker_model.hpp>

#include <caisson/policies/adaptive_limit/limit_steps.hpp>

namespace caisson::detail {

worker_model::step
worker_model::follow(const limit_window::results& w, std::int64_t now,
                     bool may_probe, const adaptive_limit_config& c, env& e) {
  if (w.latency)
    latency_ = w.latency;
  if (c.algorithm == limit_algorithm::aimd)
    return {.limit = now + 1};
  if (!w.latency)
    return {.limit = now};
  return c.algorithm == limit_algorithm::vegas
           ? follow_vegas(w, now, may_probe, c, e)
           : follow_gradient(*w.latency, now, c);
}

// -- Vegas --------------------------------------------------------------------

worker_model::step worker_model::follow_vegas(const limit_window::results& w,
                                              std::int64_t now, bool may_probe,
                                              const adaptive_limit_config& c,
                                              env& e) {
  step out{.limit = now};
  since_probe_ += w.samples;
  if (!baseline_) {
    draw_delay(c, e);
    since_probe_ = 0;
  }
  auto shorter = !baseline_ || *w.latency < *baseline_;
  if (shorter)
    out.capped = accept_baseline(*w.latency, c);
  auto queued = queued_calls(now, *baseline_, *w.latency);
  // By the present limit: one that has collapsed lets few samples through.
  auto enough = static_cast<double>(c.probe) * static_cast<double>(now)
                * (1 - delay_share_);
  if (static_cast<double>(since_probe_) >= enough && may_probe) {
    // With all calls in flight that seem to queue, the latency of now would
    // become that without load, and so many more would queue then. Those that
    // queue unnoticed, as the baseline is too long already, are reduced by
    // `backoff` each time. Half of the limit stays: where latencies differ
    // much, calls seem to queue that do not.
    since_probe_ = 0;
    probe_limit_ = std::max(backed_off_limit(now - queued, c.backoff), now / 2);
    out.probes = true;
  } else if (!shorter) {
    out.limit = vegas_limit(now, queued, c.alpha, c.beta);
  }
  return out;
}

// -- gradient -----------------------------------------------------------------

worker_model::step
worker_model::follow_gradient(duration latency, std::int64_t now,
                              const adaptive_limit_config& c) {
  step out;
  if (!baseline_)
    out.capped = accept_baseline(latency, c);
  gradient_ = limit_gradient(*baseline_, latency, c.buffer);
  out.limit = gradient_limit(now, gradient_);
  // At the floor the latency is not the fault of these calls, and a latency far
  // below the baseline shows that this was measured in worse times.
  auto at_floor = out.limit <= c.min_limit
                  || (gradient_ <= least_gradient && out.limit >= now);
  auto far_below = 2 * latency <= *baseline_;
  auto fits = !at_floor && !far_below;
  misfits_ = fits ? 0 : misfits_ + 1;
  return out;
}

bool worker_model::misfits() const noexcept {
  constexpr auto too_many_misfits = 5;
  return misfits_ >= too_many_misfits;
}

// -- both ---------------------------------------------------------------------

bool worker_model::accept_baseline(duration d, const adaptive_limit_config& c) {
  baseline_ = std::min(d, c.max_baseline);
  return d > c.max_baseline;
}

void worker_model::draw_delay(const adaptive_limit_config& c, env& e) {
  delay_share_ = e.random.uniform(0, c.jitter);
}

void worker_model::clear() noexcept {
  baseline_.reset();
  latency_.reset();
  gradient_ = 1;
  misfits_ = 0;
  since_probe_ = 0;
}

} // namespace caisson::detail
