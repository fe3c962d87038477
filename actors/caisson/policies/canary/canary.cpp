#include <caisson/policies/canary/canary.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/base/hash.hpp>
#include <caisson/base/random.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace caisson {

namespace {

// Where a key stands between 0 and 1. The salt makes other canaries begin with
// other keys.
double place_of(std::string_view key, std::string_view salt) {
  auto hash = mix_seed(detail::fnv1a(key, detail::fnv1a(salt)));
  return unit_interval(hash);
}

// How long the answer took, if that says how fast its sender is. A quick
// failure does not; one that took all the available time does.
std::optional<duration> time_of(const outcome& o, canary_verdict v,
                                time_point sent, time_point now) {
  if (v == canary_verdict::bad && !o.is(errc::deadline_exceeded))
    return std::nullopt;
  return now - sent;
}

constexpr std::size_t most_kept_differences = 10;

} // namespace

// -- construction -------------------------------------------------------------

canary::canary(canary_config c, canary_host host)
  : policy_base(std::move(c)), host_(std::move(host)) {}

// -- calls: admission ---------------------------------------------------------

decision canary::admit(call_info& call, slot& notes, env& e) {
  auto* content = std::exchange(next_, nullptr);
  catch_up(e);
  if (stages_.where() == phase::waiting && config_.enabled && host_.present)
    begin("first call", e);
  auto& saved = notes.start<call_state>();
  saved.sent = e.now;
  saved.run = stages_.run();
  if (is_for_canary(call, e)) {
    if (sends()) {
      count(counter::to_canary);
      saved.where = place::canary;
      ++with_canary_;
      saved.at = calls_.add(
        {.id = call.id, .sent = e.now, .run = stages_.run()});
      CAISSON_ENSURE(with_canary_ <= static_cast<std::int64_t>(calls_.size()),
                     "{} of {} calls are with the canary", with_canary_,
                     calls_.size());
      e.start_child({.parents = {call.id}, .target = 0});
      return decision::hold();
    }
    count(counter::observed);
  }
  count(counter::to_baseline);
  saved.mirrored = is_mirrored(call, e);
  if (saved.mirrored && host_.keep && content)
    saved.kept = mirrors_.keep(host_.keep(content));
  return decision::pass();
}

bool canary::sends() const {
  return !host_.sends || host_.sends();
}

bool canary::is_for_canary(const call_info& call, env& e) const {
  auto part = share();
  if (part <= 0 || part >= 1)
    return part >= 1;
  if (config_.sticky && !call.key.empty())
    return place_of(call.key, config_.name) < part;
  return e.random.uniform() < part;
}

bool canary::is_mirrored(const call_info& call, env& e) const {
  return config_.mirror_rate > 0 && stages_.judged() && !draining_ && sends()
         && call.idempotent == idempotence::yes
         && e.random.uniform() < config_.mirror_rate;
}

// -- calls: results -----------------------------------------------------------

decision canary::complete(call_info& call, slot& notes, outcome& result,
                          env& e) {
  auto& saved = notes.as<call_state>();
  auto was_overdue = take_from_canary(call.id, saved);
  saved.may_have_executed = saved.may_have_executed || result.may_have_executed;
  result.may_have_executed = saved.may_have_executed;
  if (saved.where == place::second)
    return decision::pass();
  auto v = verdict_on(result, config_, e);
  if (saved.where == place::baseline) {
    note_baseline(saved, result, v, e);
    start_mirror(call, saved, result, e);
    return decision::pass();
  }
  CAISSON_ENSURE(with_canary_ > 0, "{} calls are with the canary",
                 with_canary_);
  --with_canary_;
  note_canary(saved, result, v, was_overdue, e);
  if (v != canary_verdict::bad || !may_repeat(call, saved, e))
    return decision::pass();
  count(counter::given_to_baseline);
  saved.where = place::second;
  send_to_baseline(call.id, {}, e);
  return decision::hold();
}

bool canary::take_from_canary(call_id id, call_state& saved) {
  auto at = std::exchange(saved.at, detail::canary_calls::none);
  if (at == detail::canary_calls::none)
    return false;
  CAISSON_ENSURE(with_canary_ <= static_cast<std::int64_t>(calls_.size()),
                 "{} of {} calls are with the canary", with_canary_,
                 calls_.size());
  auto was = calls_.take(at);
  CAISSON_ENSURE(was.id == id, "call {} comes back in place of call {}",
                 call_number(id), call_number(was.id));
  if (was.handed_over) {
    saved.where = place::second;
    // The canary has it, and may be at it.
    saved.may_have_executed = true;
  }
  return was.overdue;
}

void canary::send_to_baseline(call_id call, std::string_view why, env& e) {
  e.emit({.kind = event_kind::fell_back,
          .to = "baseline",
          .detail = why,
          .call = call});
  e.resume(call);
}

bool canary::may_repeat(const call_info& call, const call_state& saved,
                        env& e) const {
  return config_.on_failure == on_canary_failure::baseline && sends()
         && e.now < call.deadline
         && (!saved.may_have_executed || call.idempotent == idempotence::yes);
}

void canary::abandon(call_info& call, slot& notes, const outcome& why,
                     bool in_flight, env& e) {
  auto& saved = notes.as<call_state>();
  mirrors_.take(saved.kept);
  auto was_overdue = take_from_canary(call.id, saved);
  if (saved.where == place::second)
    return;
  // A call that was not sent says nothing about either side.
  auto v = in_flight ? verdict_on(why, config_, e) : canary_verdict::neutral;
  if (saved.where == place::baseline)
    return note_baseline(saved, why, v, e);
  CAISSON_ENSURE(with_canary_ > 0, "{} calls are with the canary",
                 with_canary_);
  --with_canary_;
  note_canary(saved, why, v, was_overdue, e);
}

void canary::note_canary(const call_state& saved, const outcome& o,
                         canary_verdict v, bool was_overdue, env& e) {
  CAISSON_ENSURE(saved.run <= stages_.run() && with_canary_ >= 0,
                 "a call of run {} ends in run {}, {} are with the canary",
                 saved.run, stages_.run(), with_canary_);
  catch_up(e);
  constexpr counter names[] = {counter::canary_succeeded,
                               counter::canary_failed, counter::canary_neutral};
  count(names[static_cast<std::size_t>(v)]);
  if (v != canary_verdict::neutral && !stages_.counts(saved.run))
    count(counter::late_results);
  if (!stages_.counts(saved.run))
    return;
  auto failed = v == canary_verdict::bad;
  if (v != canary_verdict::neutral)
    stages_.add_canary(failed, time_of(o, v, saved.sent, e.now), e.now);
  auto timed = !was_overdue && time_call(saved, o, v, e);
  if (v == canary_verdict::neutral)
    return timed ? weigh(e) : void();
  stages_.add_answer(failed && !o.blames_request());
  weigh(e);
}

// A call that ends before `max_p99`, and not because it was answered, says
// nothing about how long an answer takes, unless its time was over. Returns
// whether it counts.
bool canary::time_call(const call_state& saved, const outcome& o,
                       canary_verdict v, env& e) {
  auto late = o.is(errc::deadline_exceeded) && v == canary_verdict::bad;
  auto slow = late || e.now - saved.sent > stages_.rules().max_p99;
  if (!slow && v != canary_verdict::good)
    return false;
  stages_.add_timed(slow);
  return true;
}

void canary::note_baseline(const call_state& saved, const outcome& o,
                           canary_verdict v, env& e) {
  catch_up(e);
  constexpr counter names[] = {counter::baseline_succeeded,
                               counter::baseline_failed,
                               counter::baseline_neutral};
  count(names[static_cast<std::size_t>(v)]);
  if (v != canary_verdict::neutral && stages_.counts(saved.run))
    stages_.add_baseline(v == canary_verdict::bad,
                         time_of(o, v, saved.sent, e.now), e.now);
}

// -- mirrors ------------------------------------------------------------------

void canary::start_mirror(const call_info& call, call_state& saved,
                          const outcome& answer, env& e) {
  auto asked = mirrors_.take(saved.kept);
  // What a layer or a gate says is no answer to compare with, nor is that there
  // was none.
  auto is_answer = answer.ok || (answer.from_worker && !answer.unanswered);
  // Others may have joined it since.
  auto may_copy = saved.mirrored && call.idempotent == idempotence::yes;
  if (!may_copy || !is_answer || !stages_.counts(saved.run) || draining_
      || !sends())
    return;
  if (mirrors_.size() >= config_.max_mirrored)
    return count(counter::mirrors_skipped);
  count(counter::mirrored);
  auto child = e.start_child(
    {.target = 0,
     .deadline = time_after(e.now, config_.mirror_timeout),
     .permits = call.permits,
     .key = call.key,
     .priority = call.priority,
     .idempotent = call.idempotent,
     .started_by = call.id});
  auto kept = host_.keep && answer.reply ? host_.keep(answer.reply) : nullptr;
  mirrors_.start(child, {.call = call.id,
                         .run = saved.run,
                         .asked = std::move(asked),
                         .answer = std::move(kept),
                         .ok = answer.ok,
                         .code = answer.code,
                         .category = answer.category});
}

decision canary::child_done(call_id child, outcome& result, env& e) {
  // A child that is no mirror is completed with its parent.
  auto m = mirrors_.end(child);
  if (!m)
    return decision::pass();
  CAISSON_ENSURE(
    m->run <= stages_.run(), "call {} mirrors call {} of run {}, after run {}",
    call_number(child), call_number(m->call), m->run, stages_.run());
  // A child that ended for another reason has no answer.
  auto ended = !result.ok
               && verdict_on(result, config_, e) == canary_verdict::neutral;
  auto difference = ended ? std::nullopt
                          : canary_mirrors::difference(*m, result, host_, e);
  if (difference)
    note_mirror(*m, *difference, result, e);
  else
    count(counter::mirrors_unjudged);
  return decision::pass();
}

void canary::note_mirror(const canary_mirrors::mirror& m,
                         std::string_view difference, const outcome& o,
                         env& e) {
  catch_up(e);
  auto differs = !difference.empty();
  count(differs ? counter::mirrors_differing : counter::mirrors_equal);
  if (differs)
    emit_difference(m, difference, o, e);
  if (!stages_.counts(m.run))
    return;
  if (auto why = stages_.add_mirrored(differs); !why.empty())
    roll_back(why, e);
}

void canary::emit_difference(const canary_mirrors::mirror& m,
                             std::string_view difference, const outcome& o,
                             env& e) {
  std::string detail{difference};
  if (described_ < config_.max_described) {
    ++described_;
    if (auto more = canary_mirrors::description(m, o, difference, host_, e);
        !more.empty())
      detail += ": " + more;
    differences_.push_back(
      fmt::format("call {}: {}", call_number(m.call), detail));
    if (differences_.size() > most_kept_differences)
      differences_.pop_front();
  }
  e.emit({.kind = event_kind::differed, .detail = detail, .call = m.call});
}

void canary::drain(env& e) {
  draining_ = true;
  for (auto child : mirrors_.end_all()) {
    count(counter::mirrors_unjudged);
    e.cancel_child(child);
  }
}

// -- time ---------------------------------------------------------------------

time_point canary::wakeup() const {
  return std::min({stages_.next(), next_overdue(), next_hand_over()});
}

time_point canary::next_overdue() const {
  return stages_.judged() ? calls_.next_overdue(stages_.rules().max_p99)
                          : never;
}

time_point canary::next_hand_over() const {
  return calls_.next_hand_over(config_.hand_over_after);
}

void canary::wake(env& e) {
  catch_up(e);
}

// What is due by now, and what becomes due by it.
void canary::catch_up(env& e) {
  while (e.now >= wakeup()) {
    hand_over(e);
    note_overdue(e);
    if (e.now < stages_.next())
      continue;
    if (stages_.where() == phase::rolled_back) {
      begin("retry_after over", e);
    } else {
      stages_.end_dwell();
      go_on_if_due(e);
    }
  }
}

void canary::note_overdue(env& e) {
  auto any = false;
  while (e.now >= next_overdue()) {
    if (!stages_.counts(calls_.take_overdue().run))
      continue;
    stages_.add_timed(true);
    any = true;
  }
  if (any)
    weigh(e);
}

void canary::hand_over(env& e) {
  if (e.now < next_hand_over())
    return;
  // Those that must not be repeated, or have no time left, stay.
  auto may_go = [&e, acts = sends()](call_id id) {
    const auto* call = e.find(id);
    return acts && call && call->idempotent == idempotence::yes
           && e.now < call->deadline;
  };
  while (
    auto call = calls_.take_hand_over(config_.hand_over_after, e.now, may_go)) {
    CAISSON_ENSURE(with_canary_ > 0, "call {} is handed over, and {} are there",
                   call_number(*call), with_canary_);
    --with_canary_;
    count(counter::canary_neutral);
    count(counter::handed_over);
    send_to_baseline(*call, "handed over", e);
  }
}

// -- stages -------------------------------------------------------------------

void canary::begin(std::string_view why, env& e) {
  stages_.begin_run();
  stages_.clear();
  differences_.clear();
  enter(phase::stage, 0, why, e);
}

void canary::enter(phase next, std::size_t stage, std::string_view why,
                   env& e) {
  described_ = 0;
  if (stages_.enter(next, stage, why, e))
    calls_.time_anew();
}

void canary::use_rules() {
  if (stages_.use_rules())
    calls_.time_anew();
}

void canary::weigh(env& e) {
  if (auto why = stages_.worse(e.now); !why.empty())
    return roll_back(why, e);
  go_on_if_due(e);
}

void canary::go_on_if_due(env& e) {
  if (!stages_.is_over(e.now))
    return;
  if (auto why = stages_.worse_at_end(e.now); !why.empty())
    return roll_back(why, e);
  // More answers will tell.
  if (stages_.undecided(e.now))
    return;
  auto stage = stages_.number();
  if (stages_.has_more()) {
    count(counter::went_on);
    return enter(phase::stage, stage + 1, "as good as the baseline", e);
  }
  count(counter::promotions);
  enter(phase::promoted, stage, "as good as the baseline", e);
}

void canary::roll_back(std::string_view why, env& e) {
  give_up(e);
  stages_.begin_run();
  count(counter::rollbacks);
  enter(phase::rolled_back, 0, why, e);
}

// What the canary has by now goes to the baseline later.
void canary::give_up(env& e) {
  calls_.give_up(stages_.run(), e.now);
}

// -- operation ----------------------------------------------------------------

bool canary::command(policy_command c, env& e) {
  catch_up(e);
  if (c.what == operator_command::enable && c.has_no_end()
      && stages_.where() == phase::rolled_back) {
    stages_.begin_run();
    enter(phase::waiting, 0, "enabled", e);
  }
  return policy_base::command(c, e);
}

std::map<std::string, std::string> canary::notes() const {
  std::map<std::string, std::string> out{{"limits", to_text(stages_.rules())}};
  for (std::size_t i = 0; i < differences_.size(); ++i)
    out.emplace(fmt::format("difference_{}", i + 1), differences_[i]);
  return out;
}

void canary::prepare(canary_config&, env& e) {
  // What is due by now happens under the old settings.
  catch_up(e);
}

void canary::adapt(env& e) {
  auto next = stages_.set_config(config_);
  if (!config_.enabled) {
    if (stages_.where() == phase::waiting)
      return use_rules();
    if (stages_.judged())
      give_up(e);
    stages_.begin_run();
    return enter(phase::waiting, 0, "disabled", e);
  }
  if (next)
    enter(phase::stage, *next, "other stages", e);
  use_rules();
  stages_.update_dwell(e.now);
  go_on_if_due(e);
}

void canary::forget(env& e) {
  stages_.begin_run();
  stages_.clear();
  differences_.clear();
  enter(phase::waiting, 0, "reset", e);
}

void canary::list_gauges(std::vector<metric>& out) const {
  stages_.list_position(out);
  out.push_back({"with_canary", with_canary_, true});
  out.push_back(
    {"mirroring", static_cast<std::int64_t>(mirrors_.size()), true});
  stages_.list_answers(out);
}

} // namespace caisson
