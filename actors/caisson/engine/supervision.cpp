#include <caisson/engine/supervision.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/callback.hpp>
#include <caisson/policy/schedule_settings.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, supervision_config& c) {
  using namespace std::chrono_literals;
  v.choice({"lifetime",
            "permanent: the worker is started again whenever it has "
            "ended; transient: only if that was not normal; "
            "temporary: never"},
           c.lifetime);
  v.on({"restart", "how long to wait before each restart; when it is "
                   "exhausted, the worker is given up"},
       c.restart);
  v.integer<std::uint32_t>({"max_restarts",
                            "how many restarts there may be within `period`; "
                            "the worker is given up instead of one more",
                            "restarts"},
                           c.max_restarts, {0, 1'000});
  v.on({"period", "the time over which restarts are counted"}, c.period,
       {1us, std::chrono::hours(24 * 365)});
  v.on({"stable_after", "a worker that was up for this long starts `restart` "
                        "over when it dies"},
       c.stable_after, {0ns, unlimited});
  v.integer<std::uint32_t>({"max_waiting",
                            "how many calls may wait for the worker to be "
                            "started again",
                            "calls"},
                           c.max_waiting, {0, 1'000'000});
  v.choice({"on_give_up", "quit: the gate quits when the worker is given up; "
                          "refuse: it stays and refuses calls"},
           c.on_give_up);
  v.on({"shutdown", "how long a worker that the gate ends may take to quit "
                    "before it is killed; 0: it is killed at once"},
       c.shutdown, {0ns, unlimited});
}

supervision::supervision(supervision_config c) : config_(std::move(c)) {
  require_valid(config_);
  config_.restart = config_.restart.detached();
  recent_.reserve(config_.max_restarts);
}

void supervision::reconfigure(supervision_config c) {
  // A place in the old schedule means nothing in the new one.
  if (!take_over_schedule(c.restart, config_.restart))
    place_ = {};
  config_ = std::move(c);
}

// -- deaths and births --------------------------------------------------------

bool supervision::restarts_after(actor_end how) const noexcept {
  switch (config_.lifetime) {
    case worker_lifetime::permanent:
      return true;
    case worker_lifetime::transient:
      return how != actor_end::normal;
    case worker_lifetime::temporary:
      break;
  }
  return false;
}

void supervision::on_ended() noexcept {
  up_since_.reset();
  counters_.add(counter::ended);
}

std::optional<time_point> supervision::on_down(time_point now,
                                               random_source& random,
                                               std::string* failure) {
  auto up_since = std::exchange(up_since_, std::nullopt);
  if (up_since && time_until(now, *up_since) >= config_.stable_after) {
    counters_.add(counter::steadied);
    place_ = {};
  }
  forget_old(now);
  if (recent_.size() >= config_.max_restarts) {
    counters_.add(counter::gave_up);
    return std::nullopt;
  }
  auto delay = next_delay(random, failure);
  auto at = delay ? time_after(now, *delay) : never;
  // A wait without end is no restart either.
  if (!delay || at == never) {
    counters_.add(counter::gave_up_schedule);
    return std::nullopt;
  }
  last_delay_ = *delay;
  recent_.push_back(now);
  CAISSON_ENSURE(recent_.size() <= config_.max_restarts,
                 "{} restarts, and {} are allowed", recent_.size(),
                 config_.max_restarts);
  counters_.add(counter::restarts);
  return at;
}

duration supervision::retry_delay(random_source& random, std::string* failure) {
  auto delay = next_delay(random, failure);
  if (delay && *delay != unlimited)
    last_delay_ = *delay;
  return last_delay_;
}

void supervision::start_over() noexcept {
  place_ = {};
  recent_.clear();
}

std::optional<duration> supervision::next_delay(random_source& random,
                                                std::string* failure) {
  // A worker is not given up because of an error that is not its own.
  return try_user([&] { return config_.restart.next(place_, random); },
                  [&](std::string_view what) {
                    if (failure)
                      *failure = what;
                  })
    .value_or(last_delay_);
}

void supervision::forget_old(time_point now) noexcept {
  // If the clock stepped back, the age is zero and the restart still counts.
  std::erase_if(
    recent_, [&](time_point t) { return time_until(now, t) > config_.period; });
}

// -- operation ----------------------------------------------------------------

void supervision::reset() noexcept {
  place_ = {};
  last_delay_ = std::chrono::seconds(1);
  recent_.clear();
  counters_.clear();
}

void supervision::list_metrics(std::vector<metric>& out) const {
  counters_.list(out);
}

} // namespace caisson
