#include <caisson/breaker.hpp>
#include <caisson/callback.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

breaker::breaker(breaker_config c)
  : policy_base(std::move(c)), state_(closed{trip_history{config_}}) {
  config_.open = config_.open.detached();
}

// -- calls: admission ---------------------------------------------------------

decision breaker::admit(call_info& call, slot& notes, env& e) {
  catch_up(e);
  // Forced open, the automatic state is not asked: it would spend a probe on a
  // call that is never sent.
  if (override_ == override_state::forced_open)
    return turn_away(call, e);
  if (offer(call, notes, e))
    return decision::pass();
  if (override_ == override_state::none)
    return turn_away(call, e);
  count(counter::forced_through);
  notes.start(admission{era_, 0, part::bystander});
  return decision::pass();
}

// Whether the automatic state takes the call.
bool breaker::offer(const call_info& call, slot& notes, env& e) {
  if (std::holds_alternative<closed>(state_)) {
    count(counter::admitted);
    notes.start(admission{era_, 0, part::counted});
    return true;
  }
  if (auto* s = std::get_if<open>(&state_)) {
    if (clock_ < s->until)
      return false;
    go_half_open(*s, e);
  }
  return offer_probe(std::get<half_open>(state_), call, notes);
}

bool breaker::offer_probe(half_open& s, const call_info& call, slot& notes) {
  // A judged probe is spent; only a neutral one came back.
  if (s.successes + s.failures + s.leases.size() >= config_.probes)
    return false;
  if (s.first_probe == never)
    s.first_probe = clock_;
  s.leases.push_back({++last_lease_, call.id, clock_});
  count(counter::probes);
  notes.start(admission{era_, last_lease_, part::probe});
  return true;
}

decision breaker::turn_away(const call_info& call, env& e) {
  if (override_ == override_state::forced_open)
    // When it ends is unknown: an operator decides.
    return refuse(counter::rejected_forced, errc::breaker_open, call.id, e);
  // Times left are told by the present clock, even if it stepped back. None is
  // zero: what ends at or before `clock_` has ended.
  if (auto* s = std::get_if<open>(&state_))
    return refuse(counter::rejected_open, errc::breaker_open, call.id, e,
                  time_until(s->until, e.now));
  // The probe is likely to be answered long before its lease ends.
  return refuse(
    counter::rejected_half_open, errc::breaker_open, call.id, e,
    std::min(time_until(next_end(std::get<half_open>(state_)), e.now),
             config_.half_open_retry_after));
}

// -- calls: results -----------------------------------------------------------

decision breaker::settle(call_info& call, slot& notes, outcome& result,
                         env& e) {
  judge(call, notes.as<admission>(),
        config_.classify.judge(result, count_lists, e), e);
  return decision::pass();
}

void breaker::abandon(call_info& call, slot& notes, const outcome& why,
                      bool in_flight, env& e) {
  // A call that did not go down says nothing about the worker.
  auto v = in_flight ? config_.classify.judge(why, count_lists, e)
                     : verdict::neutral;
  judge(call, notes.as<admission>(), v, e);
}

void breaker::judge(const call_info& call, const admission& a, verdict v,
                    env& e) {
  catch_up(e);
  if (a.played == part::bystander)
    // It holds nothing, and its automatic state had nothing to learn.
    count(counter::unjudged_results);
  else if (a.era != era_)
    // The state that asked is over: this answers a question nobody asks now.
    tell_late(call, "earlier era", e);
  else if (a.played == part::probe)
    judge_probe(call, a, v, e);
  else
    judge_counted(v, e);
}

void breaker::judge_counted(verdict v, env& e) {
  count_verdict(v);
  // Neither a success nor a failure: the history does not see it.
  if (v == verdict::neutral || v == verdict::refused)
    return;
  auto& history = std::get<closed>(state_).history;
  if (history.add(v != verdict::success, clock_)) {
    count(counter::opened);
    go_open({}, history.reason(), e);
  }
}

void breaker::judge_probe(const call_info& call, const admission& a, verdict v,
                          env& e) {
  auto& s = std::get<half_open>(state_);
  auto i = std::lower_bound(
    s.leases.begin(), s.leases.end(), a.lease,
    [](const lease& x, std::uint64_t number) { return x.number < number; });
  if (i == s.leases.end() || i->number != a.lease) {
    // It has been counted as a failure when its lease ended.
    tell_late(call, "probe timed out", e);
    return;
  }
  s.leases.erase(i);
  count_verdict(v);
  if (v == verdict::neutral || v == verdict::refused) {
    // The probe is free for another call; nothing was learned.
    count(counter::probes_returned);
    return;
  }
  ++(v == verdict::success ? s.successes : s.failures);
  weigh_probes("probe failed", e);
}

void breaker::count_verdict(verdict v) {
  switch (v) {
    case verdict::success:
      count(counter::successes);
      break;
    case verdict::failure:
    case verdict::transient:
      count(counter::failures);
      break;
    case verdict::neutral:
      count(counter::neutral);
      break;
    case verdict::refused:
      count(counter::refused);
      break;
  }
}

void breaker::tell_late(const call_info& call, std::string_view why, env& e) {
  count(counter::late_results);
  e.tell({.kind = event_kind::late_result, .detail = why, .call = call.id});
}

// -- time ---------------------------------------------------------------------

void breaker::catch_up(env& e) {
  clock_ = std::max(clock_, e.now);
  if (auto* s = std::get_if<closed>(&state_))
    s->history.roll(clock_);
  if (std::holds_alternative<half_open>(state_))
    expire_probes(e);
  // Unless it is eager, the end of the interval is left to the next call.
  if (auto* s = std::get_if<open>(&state_);
      s && config_.eager_half_open && clock_ >= s->until)
    go_half_open(*s, e);
}

void breaker::expire_probes(env& e) {
  auto& s = std::get<half_open>(state_);
  auto cap = end_of(s);
  auto horizon = std::min(clock_, cap);
  while (!s.leases.empty() && end_of(s.leases.front()) <= horizon) {
    auto call = s.leases.front().call;
    s.leases.erase(s.leases.begin());
    ++s.failures;
    count(counter::leases_expired);
    e.tell({.kind = event_kind::lease_ended,
            .detail = "probe timed out",
            .call = call,
            .delay = config_.probe_timeout});
    if (weigh_probes("probe timed out", e))
      return;
  }
  if (clock_ < cap)
    return;
  count(counter::half_open_timeouts);
  // Few calls are no fault of the worker's. A probe that is still out by now
  // was granted after others came back neutral; had it hung from the start, it
  // would have failed.
  if (s.failures == 0)
    go_closed("half-open without a failure", e);
  else if (config_.after_half_open_max == breaker_verdict::open)
    go_open(s.episode, "half-open for too long", e);
  else
    go_closed("half-open for too long", e);
}

time_point breaker::end_of(const lease& x) const noexcept {
  return time_after(x.granted, config_.probe_timeout);
}

time_point breaker::end_of(const half_open& s) const noexcept {
  return time_after(s.first_probe, config_.half_open_max);
}

time_point breaker::next_end(const half_open& s) const noexcept {
  auto cap = end_of(s);
  return s.leases.empty() ? cap : std::min(end_of(s.leases.front()), cap);
}

time_point breaker::wakeup() const {
  if (auto* s = std::get_if<closed>(&state_))
    return s->history.next_change();
  if (auto* o = std::get_if<open>(&state_))
    return config_.eager_half_open ? o->until : never;
  return next_end(std::get<half_open>(state_));
}

// -- transitions --------------------------------------------------------------

// Leaves half-open as soon as the verdict is certain, either way. Returns
// whether it did. With settings that did not change meanwhile at most one of
// the two is true; if they did, the worse one wins.
bool breaker::weigh_probes(std::string_view why_open, env& e) {
  auto& s = std::get<half_open>(state_);
  auto needed = config_.successes_to_close == 0 ? config_.probes
                                                : config_.successes_to_close;
  if (s.failures > config_.probes - needed) {
    count(counter::reopened);
    go_open(s.episode, why_open, e);
    return true;
  }
  if (s.successes >= needed) {
    count(counter::closed);
    go_closed("probes succeeded", e);
    return true;
  }
  return false;
}

void breaker::go_open(outage episode, std::string_view why, env& e) {
  // An exhausted schedule repeats its last delay, and so does one that throws.
  auto next = [&] { return config_.open.next(episode.at, e.random); };
  if (auto delay = call_user("schedule", next, e).value_or(std::nullopt))
    episode.interval = *delay;
  ++episode.openings;
  move_to(open{episode, time_after(clock_, episode.interval)}, why, e);
}

void breaker::go_half_open(const open& s, env& e) {
  count(counter::half_opened);
  half_open next;
  next.episode = s.episode;
  move_to(std::move(next), "open interval over", e);
}

void breaker::go_closed(std::string_view why, env& e) {
  move_to(closed{trip_history{config_}}, why, e);
}

void breaker::move_to(automatic_state next, std::string_view why, env& e) {
  auto from = state();
  state_ = std::move(next);
  ++era_;
  tell_change(from, why, e);
}

bool breaker::force(override_state next, std::string_view why, env& e) {
  auto from = state();
  override_ = next;
  tell_change(from, why, e);
  return true;
}

void breaker::tell_change(std::string_view from, std::string_view why, env& e) {
  // Under an override the automatic state changes unseen; repeated commands
  // change nothing.
  if (auto to = state(); to != from)
    e.tell({.kind = event_kind::state_changed,
            .from = from,
            .to = to,
            .detail = why});
}

// -- operation ----------------------------------------------------------------

std::string_view breaker::state() const {
  if (override_ == override_state::forced_open)
    return "forced_open";
  if (override_ == override_state::forced_closed)
    return "forced_closed";
  constexpr std::string_view names[] = {"closed", "open", "half_open"};
  return names[state_.index()];
}

void breaker::prepare(breaker_config& next, env& e) {
  // What is due by now happens under the old settings.
  catch_up(e);
  // The running interval stays as it was announced to those turned away; a
  // place in the old schedule means nothing in a new one.
  if (take_over(next.open, config_.open))
    return;
  if (auto* o = std::get_if<open>(&state_))
    o->episode.at = {};
  else if (auto* h = std::get_if<half_open>(&state_))
    h->episode.at = {};
}

void breaker::adapt(env& e) {
  if (auto* s = std::get_if<closed>(&state_))
    s->history.adopt(config_, clock_);
  else if (std::holds_alternative<half_open>(state_))
    weigh_probes("reconfigured", e);
  // A shorter limit may have passed already.
  catch_up(e);
}

bool breaker::command(operator_command c, env& e) {
  catch_up(e);
  switch (c) {
    case operator_command::force_open:
      return force(override_state::forced_open, "forced open", e);
    case operator_command::force_closed:
      return force(override_state::forced_closed, "forced closed", e);
    case operator_command::enable:
      return force(override_state::none, "override lifted", e);
    default:
      return policy_base::command(c, e);
  }
}

void breaker::forget(env& e) {
  go_closed("reset", e);
}

void breaker::list_gauges(std::vector<metric>& out) const {
  auto gauge = [&](std::string_view name, std::int64_t value) {
    out.push_back({name, value, true});
  };
  auto* c = std::get_if<closed>(&state_);
  auto* o = std::get_if<open>(&state_);
  auto* h = std::get_if<half_open>(&state_);
  auto automatic = static_cast<std::int64_t>(state_.index());
  auto forced = static_cast<std::int64_t>(override_);
  gauge("state", forced == 0 ? automatic : 2 + forced);
  gauge("automatic_state", automatic);
  gauge("failure_streak", c ? c->history.streak() : 0);
  gauge("window_total", c ? c->history.window_total() : 0);
  gauge("failure_rate_permille", c ? c->history.failure_rate_permille() : -1);
  gauge("probes_in_flight",
        h ? static_cast<std::int64_t>(h->leases.size()) : 0);
  gauge("openings_in_a_row", o   ? o->episode.openings
                             : h ? h->episode.openings
                                 : 0);
}

} // namespace caisson
