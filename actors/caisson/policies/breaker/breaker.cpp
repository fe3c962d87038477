#include <caisson/base/ensure.hpp>
#include <caisson/policies/breaker/breaker.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

breaker::breaker(breaker_config c)
  : policy_base(std::move(c)), state_(initial_state()), history_(config_) {
  config_.open = config_.open.detached();
  plan_check();
}

// -- calls: admission ---------------------------------------------------------

decision breaker::admit(call_info& call, slot& notes, env& e) {
  catch_up(e);
  auto* s = std::get_if<closed>(&state_);
  // What most calls are; the rest is the same for them.
  if (s && !s->rejects && !timed_ && override_ != override_state::forced_open)
    [[likely]] {
    take_counted(*s, notes, call_role::counted);
    note_arrival();
    return decision::pass();
  }
  return admit_slow_path(call, notes, e);
}

decision breaker::admit_slow_path(const call_info& call, slot& notes, env& e) {
  // Forced open, the automatic state is not asked: it would spend a probe on a
  // call that is never sent.
  if (override_ == override_state::forced_open)
    return reject_call(call, e);
  if (take(call, notes, e))
    return decision::pass();
  if (override_ == override_state::none)
    return reject_call(call, e);
  count(counter::forced_through);
  notes.start(call_state{epoch_, clock_, call_role::bystander});
  return decision::pass();
}

// Whether the automatic state takes the call.
bool breaker::take(const call_info& call, slot& notes, env& e) {
  if (auto* s = std::get_if<closed>(&state_)) {
    auto taken = take_if_closed(*s, notes, e);
    note_arrival();
    return taken;
  }
  if (auto* s = std::get_if<open>(&state_)) {
    if (clock_ < s->until)
      return false;
    go_half_open(*s, e);
  }
  auto taken = take_probe(std::get<half_open>(state_), call, notes);
  plan_check();
  return taken;
}

bool breaker::take_if_closed(closed& s, slot& notes, env& e) {
  if (s.ramp.runs() && e.random.uniform() >= s.ramp.share(clock_, config_)) {
    s.why = counter::rejected_ramp;
    return false;
  }
  if (config_.limit_at >= 1) {
    take_counted(s, notes, call_role::counted);
    return true;
  }
  if (!s.limit.enter(history_.pressure(config_.trip_if), config_, clock_)) {
    s.why = counter::rejected_limit;
    return false;
  }
  take_counted(s, notes, call_role::limited);
  return true;
}

bool breaker::take_probe(half_open& s, const call_info& call, slot& notes) {
  if (!s.probes.grant(last_number_ + 1, call.id, clock_, config_))
    return false;
  CAISSON_ENSURE(override_ != override_state::forced_open,
                 "it is {}, and takes a probe", state());
  count(counter::probes);
  notes.start(call_state{epoch_, clock_, call_role::probe, ++last_number_});
  return true;
}

decision breaker::reject_call(const call_info& call, env& e) {
  if (override_ == override_state::forced_open)
    // Without an end it is unknown: an operator decides.
    return refuse(counter::rejected_forced, errc::breaker_open, call.id, e,
                  override_end_ == never ? duration::zero()
                                         : time_until(override_end_, e.now));
  // Times left count from the current clock, even if it stepped back. None is
  // zero: what ends at or before `clock_` has ended.
  if (auto* s = std::get_if<open>(&state_))
    return refuse(counter::rejected_open, errc::breaker_open, call.id, e,
                  time_until(s->until, e.now));
  // The next call may be among those that pass. Without a ramp, nothing is
  // known of when.
  if (auto* s = std::get_if<closed>(&state_))
    return refuse(s->why, errc::breaker_open, call.id, e,
                  std::min(time_until(s->ramp.end(config_), e.now),
                           config_.half_open_retry_after));
  // The probe is likely to be answered long before its lease ends.
  auto& s = std::get<half_open>(state_);
  return refuse(counter::rejected_half_open, errc::breaker_open, call.id, e,
                std::min(time_until(s.probes.next_end(config_), e.now),
                         config_.half_open_retry_after));
}

// -- calls: results -----------------------------------------------------------

void breaker::judge_counted(const call_state& saved, verdict v, env& e) {
  auto* s = std::get_if<closed>(&state_);
  CAISSON_ENSURE(s && saved.admitted <= clock_, "a counted call comes back {}",
                 state());
  count_verdict(v);
  auto watched = saved.watched != detail::slow_watch::none;
  auto in_time = watched
                 && s->watched_calls.remove(saved.watched, saved.number);
  // Neither a success nor a failure: the history does not see it.
  if (v == verdict::neutral || v == verdict::refused)
    return;
  auto took = clock_ - saved.admitted;
  // If it was watched and is not any more, it has been found slow already. If
  // it came before there was a limit, it is judged by it only now.
  if (config_.slow_call != unlimited && (in_time || !watched)) {
    auto slow = took >= config_.slow_call;
    if (slow)
      count(counter::slow_calls);
    history_.add_pace(slow, clock_);
  }
  history_.add(v != verdict::success, took, clock_);
  weigh_results(e);
}

decision breaker::complete(call_info& call, slot& notes, outcome& result,
                           env& e) {
  const auto& saved = notes.as<call_state>();
  auto v = config_.classify.judge(result, count_lists, e);
  catch_up(e);
  if (v == verdict::success && saved.role == call_role::counted
      && saved.epoch == epoch_ && !timed_
      && saved.watched == detail::slow_watch::none) [[likely]] {
    CAISSON_ENSURE(std::holds_alternative<closed>(state_)
                     && saved.admitted <= clock_,
                   "a counted call comes back {}", state());
    count(counter::successes);
    history_.add(false, clock_ - saved.admitted, clock_);
    weigh_results(e);
    note_check();
  } else {
    judge_now(call, saved, v, e);
  }
  return decision::pass();
}

void breaker::abandon(call_info& call, slot& notes, const outcome& why,
                      bool in_flight, env& e) {
  // A call that did not go down says nothing about the worker.
  auto v = in_flight ? config_.classify.judge(why, count_lists, e)
                     : verdict::neutral;
  judge(call, notes.as<call_state>(), v, e);
}

void breaker::judge(const call_info& call, const call_state& saved, verdict v,
                    env& e) {
  catch_up(e);
  judge_now(call, saved, v, e);
}

void breaker::judge_now(const call_info& call, const call_state& saved,
                        verdict v, env& e) {
  if (saved.role == call_role::bystander)
    // It holds nothing, and its automatic state had nothing to learn.
    count(counter::unjudged_results);
  else if (saved.epoch != epoch_)
    // The epoch of this call is over: its result no longer counts.
    emit_late(call, "earlier epoch", e);
  else if (saved.role == call_role::counted)
    judge_counted(saved, v, e);
  else if (saved.role == call_role::probe)
    judge_probe(call, saved, v, e);
  else
    judge_limited(saved, v, e);
  plan_check();
}

void breaker::judge_limited(const call_state& saved, verdict v, env& e) {
  auto* s = std::get_if<closed>(&state_);
  CAISSON_ENSURE(s, "a limited call comes back {}", state());
  s->limit.leave();
  judge_counted(saved, v, e);
}

void breaker::judge_probe(const call_info& call, const call_state& saved,
                          verdict v, env& e) {
  CAISSON_ENSURE(std::holds_alternative<half_open>(state_),
                 "a probe comes back {}", state());
  auto& s = std::get<half_open>(state_);
  if (!s.probes.take_back(saved.number))
    // It has been counted as a failure when its lease ended.
    return emit_late(call, "probe timed out", e);
  count_verdict(v);
  if (v == verdict::neutral || v == verdict::refused)
    // The probe is free for another call; nothing was learned.
    return count(counter::probes_returned);
  s.probes.judge(v == verdict::success);
  weigh_probes("probe failed", e);
}

void breaker::emit_late(const call_info& call, std::string_view why, env& e) {
  count(counter::late_results);
  e.emit({.kind = event_kind::late_result, .detail = why, .call = call.id});
}

void breaker::attempt_timed_out(std::string_view /*key*/, env& e) {
  catch_up(e);
  // A probe is judged by how its call ends.
  if (!config_.count_attempt_timeouts
      || !std::holds_alternative<closed>(state_))
    return;
  count(counter::attempt_timeouts);
  history_.add(true, std::nullopt, clock_);
  weigh_results(e);
  plan_check();
}

// -- time ---------------------------------------------------------------------

void breaker::follow(time_point last, env& e) {
  if (std::holds_alternative<closed>(state_))
    watch_calls(last, e);
  if (std::holds_alternative<half_open>(state_))
    expire_probes(e);
  // Unless it is eager, the end of the interval is left to the next call.
  if (auto* s = std::get_if<open>(&state_);
      s && config_.eager_half_open && clock_ >= s->until)
    go_half_open(*s, e);
  if (clock_ >= override_end_)
    force(override_state::none, unlimited, "forced time over", e);
  plan_check();
}

// Calls that become slow, and steps of the score that end, in order of time.
// What was due before `last`, by a limit that did not hold then, is so at it.
void breaker::watch_calls(time_point last, env& e) {
  auto& s = std::get<closed>(state_);
  for (;;) {
    auto slow = std::max(s.watched_calls.next(config_.slow_call), last);
    auto look = history_.next_update();
    auto t = std::min(slow, look);
    if (t == never || t > clock_)
      break;
    if (slow == t) {
      s.watched_calls.pop();
      count(counter::slow_calls);
      history_.add_pace(true, t);
    } else {
      history_.look(t);
    }
    if (weigh_results(e))
      return;
  }
  history_.roll(clock_);
  if (clock_ >= s.ramp.end(config_)) {
    s.ramp = {};
    s.rejects = may_reject(s);
  }
}

void breaker::expire_probes(env& e) {
  auto& s = std::get<half_open>(state_);
  auto cap = s.probes.end(config_);
  auto lease = detail::breaker_probes::lease_of(config_);
  auto slow = lease == config_.slow_call;
  auto why = slow ? "probe too slow" : "probe timed out";
  while (auto call = s.probes.expire(std::min(clock_, cap), config_)) {
    count(slow ? counter::slow_calls : counter::leases_expired);
    e.emit({.kind = event_kind::lease_ended,
            .detail = why,
            .call = *call,
            .delay = lease});
    if (weigh_probes(why, e))
      return;
  }
  if (clock_ < cap)
    return;
  CAISSON_ENSURE(s.probes.weigh(config_)
                   == detail::breaker_probes::decision::none,
                 "it is {} for too long, and its probes have decided", state());
  count(counter::half_open_timeouts);
  // Few calls are no fault of the worker's. A probe that is still out by now
  // was granted after others came back neutral; had it hung from the start, it
  // would have failed.
  if (!s.probes.any_failed())
    return go_closed("half-open without a failure", e);
  config_.after_half_open_max == breaker_verdict::open
    ? go_open(s.episode, "half-open for too long", e)
    : go_closed("half-open for too long", e);
}

void breaker::plan_check() {
  check_at_ = std::min(override_end_, automatic_check());
  timed_ = config_.slow_call != unlimited;
}

time_point breaker::automatic_check() const {
  if (auto* s = std::get_if<closed>(&state_))
    return std::min({history_.next_change(),
                     s->watched_calls.next(config_.slow_call),
                     s->ramp.end(config_)});
  if (auto* o = std::get_if<open>(&state_))
    return config_.eager_half_open ? o->until : never;
  return std::get<half_open>(state_).probes.next_end(config_);
}

// -- transitions --------------------------------------------------------------

bool breaker::weigh_history(env& e) {
  auto why = history_.verdict(config_, e);
  if (why.empty())
    return false;
  count(counter::opened);
  history_.restart(config_);
  go_open({}, why, e);
  plan_check();
  return true;
}

// Leaves half-open as soon as the verdict is certain, either way. Returns
// whether it did.
bool breaker::weigh_probes(std::string_view why_open, env& e) {
  auto& s = std::get<half_open>(state_);
  auto where = s.probes.weigh(config_);
  if (where == detail::breaker_probes::decision::open) {
    count(counter::reopened);
    go_open(s.episode, why_open, e);
  } else if (where == detail::breaker_probes::decision::close) {
    count(counter::closed);
    go_closed("probes succeeded", e);
  }
  return where != detail::breaker_probes::decision::none;
}

void breaker::go_open(outage episode, std::string_view why, env& e) {
  // An exhausted schedule repeats its last delay, and so does one that throws.
  auto next = [&] { return config_.open.next(episode.at, e.random); };
  if (auto delay = call_user("schedule", next, e).value_or(std::nullopt))
    episode.interval = *delay;
  CAISSON_ENSURE(episode.interval >= duration::zero(), "open for {}",
                 episode.interval);
  ensure_left_for(state_index::open);
  ++episode.openings;
  move_to(open{episode, time_after(clock_, episode.interval)}, why, e);
}

void breaker::go_half_open(const open& s, env& e) {
  CAISSON_ENSURE(s.until <= clock_, "{} before the interval is over",
                 s.until - clock_);
  ensure_left_for(state_index::half_open);
  count(counter::half_opened);
  move_to(half_open{s.episode, {}}, "open interval over", e);
}

void breaker::go_closed(std::string_view why, env& e) {
  ensure_left_for(state_index::closed);
  auto ramps = config_.ramp > duration::zero();
  move_to(
    closed_with(ramps ? detail::breaker_ramp{clock_} : detail::breaker_ramp{}),
    why, e);
}

breaker::closed breaker::closed_with(detail::breaker_ramp ramp) const {
  closed s;
  s.ramp = ramp;
  s.rejects = may_reject(s);
  return s;
}

breaker::automatic_state breaker::initial_state() const {
  return config_.initial == breaker_start::closed
           ? automatic_state{closed_with({})}
           : automatic_state{half_open{}};
}

void breaker::move_to(automatic_state next, std::string_view why, env& e) {
  auto from = state();
  state_ = std::move(next);
  ++epoch_;
  // Under an override the automatic state changes unseen.
  e.emit_change(from, state(), why);
}

bool breaker::force(override_state next, duration time, std::string_view why,
                    env& e) {
  auto from = state();
  override_ = next;
  override_end_ = time == unlimited ? never : time_after(clock_, time);
  e.emit_change(from, state(), why);
  return true;
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

caisson::circuit breaker::circuit(std::string_view /*key*/) const noexcept {
  if (override_ == override_state::forced_open)
    return caisson::circuit::open;
  if (override_ == override_state::forced_closed)
    return caisson::circuit::closed;
  constexpr caisson::circuit all[] = {caisson::circuit::closed,
                                      caisson::circuit::open,
                                      caisson::circuit::half_open};
  return all[state_.index()];
}

void breaker::prepare(breaker_config& next, env& e) {
  // What is due by now happens under the old settings.
  catch_up(e);
  // The running interval stays as it was announced to rejected callers; a
  // position in the old schedule means nothing in a new one.
  if (take_over_schedule(next.open, config_.open))
    return;
  if (auto* o = std::get_if<open>(&state_))
    o->episode.at = {};
  else if (auto* h = std::get_if<half_open>(&state_))
    h->episode.at = {};
}

void breaker::adapt(env& e) {
  history_.adopt(config_, clock_);
  if (auto* s = std::get_if<closed>(&state_))
    s->rejects = may_reject(*s);
  if (std::holds_alternative<half_open>(state_))
    weigh_probes("reconfigured", e);
  // A shorter limit may have passed already.
  plan_check();
  catch_up(e);
}

bool breaker::command(policy_command c, env& e) {
  catch_up(e);
  auto done = carry_out(c, e);
  plan_check();
  return done;
}

bool breaker::carry_out(policy_command c, env& e) {
  if (c.what == operator_command::force_open)
    return force(override_state::forced_open, c.time, "forced open", e);
  if (c.what == operator_command::force_closed)
    return force(override_state::forced_closed, c.time, "forced closed", e);
  if (c.what == operator_command::enable && c.has_no_end())
    return force(override_state::none, unlimited, "override lifted", e);
  return policy_base::command(c, e);
}

void breaker::forget(env& e) {
  history_ = detail::trip_history{config_};
  move_to(initial_state(), "reset", e);
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
  auto share = c ? c->ramp.share(clock_, config_) : 0;
  gauge("state", forced == 0 ? automatic : 2 + forced);
  gauge("automatic_state", automatic);
  history_.list_gauges(out);
  gauge("ramp_permille", static_cast<std::int64_t>(share * 1000));
  auto pressure = history_.pressure(config_.trip_if);
  gauge("in_flight_limit", c ? c->limit.limit(pressure, config_) : 0);
  gauge("in_flight", c ? c->limit.in_flight() : 0);
  gauge("probes_in_flight",
        h ? static_cast<std::int64_t>(h->probes.in_flight()) : 0);
  auto* episode = o ? &o->episode : h ? &h->episode : nullptr;
  gauge("openings_in_a_row", episode ? episode->openings : 0);
}

} // namespace caisson
