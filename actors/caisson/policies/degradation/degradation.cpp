#include <caisson/policies/degradation/degradation.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/base/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

degradation::degradation(degradation_config c)
  : policy_base(std::move(c)), results_(config_.window, steps),
    latencies_(config_.window, steps) {
  build_levels();
}

// Parents come before their children.
void degradation::build_levels() {
  const auto& all = config_.levels;
  levels_.clear();
  for (const auto& x : all) {
    level_state s;
    s.gauge = "level_" + x.name;
    s.held = detail::contains(config_.held_off, x.name)  ? operator_hold::off
             : detail::contains(config_.held_on, x.name) ? operator_hold::on
                                                         : operator_hold::none;
    for (std::size_t i = 0; i < levels_.size() && !x.parent.empty(); ++i)
      if (all[i].name == x.parent) {
        s.parent = i;
        s.depth = levels_[i].depth + 1;
      }
    CAISSON_ENSURE(s.parent == no_parent
                     ? s.depth == 0
                     : s.depth == levels_[s.parent].depth + 1,
                   "level {} is {} deep", levels_.size(), s.depth);
    levels_.push_back(std::move(s));
  }
  CAISSON_ENSURE(levels_.size() == config_.levels.size(),
                 "{} of {} levels are there", levels_.size(),
                 config_.levels.size());
}

// -- levels -------------------------------------------------------------------

bool degradation::is_on(std::size_t i) const noexcept {
  for (; i != no_parent; i = levels_[i].parent) {
    const auto& x = levels_[i];
    if (x.held == operator_hold::off
        || (x.held == operator_hold::none && !x.on))
      return false;
  }
  return true;
}

std::vector<std::string> degradation::features_off() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (is_on(i))
      continue;
    const auto& x = config_.levels[i];
    out.push_back(x.name);
    out.insert(out.end(), x.features.begin(), x.features.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool degradation::any_off_by_rule() const noexcept {
  return std::any_of(levels_.begin(), levels_.end(),
                     [](const level_state& x) { return !x.on; });
}

// -- calls --------------------------------------------------------------------

decision degradation::admit(call_info&, slot& notes, env& e) {
  count(counter::admitted);
  notes.start<time_point>(e.now);
  return decision::pass();
}

decision degradation::complete(call_info&, slot& notes, outcome& result,
                               env& e) {
  judge(result, notes.as<time_point>(), e);
  return decision::pass();
}

void degradation::abandon(call_info&, slot& notes, const outcome& why, bool,
                          env& e) {
  count(counter::abandoned);
  judge(why, notes.as<time_point>(), e);
}

namespace {

// The table calls it neutral, as it says nothing of the worker; but its caller
// is not served.
bool counts_as_shed(const classifier& c, const outcome& o) {
  return (o.is(errc::shed) || o.is(errc::throttled)) && !c.by_value
         && c.allow.empty() && !classifier::is_any(c.deny, o);
}

} // namespace

void degradation::judge(const outcome& o, time_point begun, env& e) {
  auto v = config_.classify.judge(o, count_lists, e);
  if (v == verdict::neutral && counts_as_shed(config_.classify, o))
    v = verdict::refused;
  if (v == verdict::neutral)
    return count(counter::ignored);
  auto failed = v != verdict::success;
  count(failed ? counter::failed : counter::succeeded);
  if (begun < counts_from_)
    return count(counter::outdated);
  results_.add(failed, e.now);
  latencies_.record(e.now - begun, e.now);
  start_checks(e);
}

// -- time ---------------------------------------------------------------------

void degradation::start_checks(env& e) {
  if (check_at_ == never)
    check_at_ = time_after(e.now, config_.check_every);
}

void degradation::wake(env& e) {
  check_at_ = never;
  auto f = measure(e.now);
  CAISSON_ENSURE(results_.failures() <= results_.total(),
                 "{} of {} calls have failed", results_.failures(),
                 results_.total());
  auto next_on = to_switch_on();
  if (next_on == no_level || !is_well(config_.levels[next_on], f))
    well_since_ = e.now;
  if (auto i = to_switch_off(f); i != no_level) {
    if (e.now >= time_after(switched_off_at_, config_.patience))
      switch_off(i, f, e);
  } else if (next_on != no_level && e.now >= time_after(well_since_, wait())) {
    switch_on(next_on, e);
  }
  if (any_off_by_rule() || results_.total() > 0)
    start_checks(e);
}

degradation::figures degradation::measure(time_point now) {
  results_.roll(now);
  latencies_.roll(now);
  figures f;
  auto total = results_.total();
  f.known = total >= config_.min_calls;
  if (!f.known)
    return f;
  auto share = [&](std::int64_t n) {
    return static_cast<double>(n) / static_cast<double>(total);
  };
  f.failures = share(results_.failures());
  f.successes = share(total - results_.failures());
  f.latency = latencies_.merged()
                .quantile(config_.percentile)
                .value_or(duration::zero());
  return f;
}

bool degradation::is_broken(const degradation_level& x,
                            const figures& f) const {
  return f.known && (f.successes < x.min_success || f.latency > x.max_latency);
}

bool degradation::is_well(const degradation_level& x, const figures& f) const {
  if (!f.known)
    return true;
  auto latency = x.max_latency == unlimited
                   ? unlimited
                   : duration{static_cast<duration::rep>(
                     static_cast<double>(x.max_latency.count())
                     * config_.recover_latency)};
  return (x.min_success == 0
          || f.failures <= (1 - x.min_success) * config_.recover_failures)
         && f.latency <= latency;
}

// Of those that are on and whose rule is broken, the last of the deepest.
std::size_t degradation::to_switch_off(const figures& f) const {
  auto found = no_level;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const auto& x = config_.levels[i];
    if (levels_[i].held == operator_hold::none && is_on(i) && is_broken(x, f)
        && (found == no_level || levels_[i].depth >= levels_[found].depth))
      found = i;
  }
  return found;
}

// Of those that the rule has switched off, the first of the highest.
std::size_t degradation::to_switch_on() const {
  auto found = no_level;
  for (std::size_t i = 0; i < levels_.size(); ++i)
    if (!levels_[i].on
        && (found == no_level || levels_[i].depth < levels_[found].depth))
      found = i;
  return found;
}

void degradation::switch_off(std::size_t i, const figures& f, env& e) {
  // Further levels that go off before one is back are the same relapse.
  if (came_back_ != time_point::min()) {
    auto relapsed = e.now - came_back_ < wait();
    doublings_ = relapsed ? doublings_ + 1 : 0;
    came_back_ = time_point::min();
  }
  CAISSON_ENSURE(wait() >= config_.recover_after
                   && wait() <= config_.recover_after_max,
                 "{} until a level comes back", wait());
  CAISSON_ENSURE(levels_[i].held == operator_hold::none,
                 "level {} is held, and its rule acts", i);
  count(counter::switched_off);
  auto failed = f.successes < config_.levels[i].min_success;
  flip(i, false, failed ? "success" : "latency", e);
  switched_off_at_ = e.now;
}

duration degradation::wait() const noexcept {
  auto out = config_.recover_after;
  for (auto i = doublings_; i > 0 && out < config_.recover_after_max; --i)
    out = std::min(duration_sum(out, out), config_.recover_after_max);
  return out;
}

void degradation::switch_on(std::size_t i, env& e) {
  came_back_ = e.now;
  count(counter::switched_on);
  flip(i, true, "recovered", e);
  // If that overloads the service, the next check may act at once.
  switched_off_at_ = time_point::min();
}

void degradation::flip(std::size_t i, bool on, std::string_view why, env& e) {
  CAISSON_ENSURE(i < levels_.size() && levels_[i].on != on,
                 "level {} of {} is switched", i, levels_.size());
  levels_[i].on = on;
  e.emit({.kind = event_kind::state_changed,
          .from = on ? "off" : "on",
          .to = on ? "on" : "off",
          .detail = fmt::format("{}: {}", config_.levels[i].name, why)});
  forget_calls(e.now);
  well_since_ = e.now;
  if (listener_)
    listener_->levels_changed();
}

void degradation::forget_calls(time_point now) {
  results_ = time_window{config_.window, steps};
  latencies_ = percentile_window{config_.window, steps};
  counts_from_ = now;
}

// -- operation ----------------------------------------------------------------

std::string_view degradation::state() const {
  for (std::size_t i = 0; i < levels_.size(); ++i)
    if (!is_on(i))
      return "degraded";
  return "normal";
}

void degradation::adapt(env& e) {
  auto before = std::exchange(levels_, {});
  build_levels();
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    auto old = std::find_if(before.begin(), before.end(), [&](auto& x) {
      return x.gauge == levels_[i].gauge;
    });
    // Where an operator has decided, the rule starts anew afterwards.
    if (old != before.end() && levels_[i].held == operator_hold::none)
      levels_[i].on = old->on;
  }
  if (time_window{config_.window, steps}.bucket_length()
      != results_.bucket_length())
    forget_calls(e.now);
  // The new interval may be shorter.
  if (check_at_ != never)
    check_at_ = std::min(check_at_, time_after(e.now, config_.check_every));
  if (listener_)
    listener_->levels_changed();
}

void degradation::forget(env& e) {
  for (auto& x : levels_)
    x.on = true;
  forget_calls(e.now);
  switched_off_at_ = well_since_ = came_back_ = time_point::min();
  doublings_ = 0;
  check_at_ = never;
  if (listener_)
    listener_->levels_changed();
}

void degradation::list_gauges(std::vector<metric>& out) const {
  std::int64_t off = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i)
    off += is_on(i) ? 0 : 1;
  out.push_back({"levels_off", off, true});
  for (std::size_t i = 0; i < levels_.size(); ++i)
    out.push_back({levels_[i].gauge, is_on(i) ? 1 : 0, true});
}

} // namespace caisson
