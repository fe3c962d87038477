#include <caisson/policies/canary/canary.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/base/hash.hpp>
#include <caisson/base/random.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

std::vector<double> shares_of(const std::vector<canary_stage>& stages) {
  std::vector<double> out;
  out.reserve(stages.size());
  for (const auto& x : stages)
    out.push_back(x.share);
  return out;
}

} // namespace

// -- construction -------------------------------------------------------------

canary::canary(canary_config c, canary_host host)
  : policy_base(std::move(c)), host_(std::move(host)),
    rules_(rules_of(config_, ruling_stage())) {}

// -- calls: admission ---------------------------------------------------------

decision canary::admit(call_info& call, slot& notes, env& e) {
  auto* content = std::exchange(next_, nullptr);
  catch_up(e);
  if (phase_ == phase::waiting && config_.enabled && host_.present)
    begin("first call", e);
  auto& saved = notes.start<progress>();
  saved.sent = e.now;
  saved.run = run_;
  if (is_for_canary(call, e)) {
    if (sends()) {
      count(counter::to_canary);
      saved.where = place::canary;
      ++with_canary_;
      saved.at = calls_.add({.id = call.id, .sent = e.now, .run = run_});
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
  return config_.mirror_rate > 0 && judged() && !draining_ && sends()
         && call.idempotent == idempotence::yes
         && e.random.uniform() < config_.mirror_rate;
}

// -- calls: results -----------------------------------------------------------

decision canary::complete(call_info& call, slot& notes, outcome& result,
                          env& e) {
  auto& saved = notes.as<progress>();
  auto was_overdue = take_from_canary(saved);
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

bool canary::take_from_canary(progress& saved) {
  auto at = std::exchange(saved.at, detail::canary_calls::none);
  if (at == detail::canary_calls::none)
    return false;
  auto was = calls_.take(at);
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

bool canary::may_repeat(const call_info& call, const progress& saved,
                        env& e) const {
  return config_.on_failure == on_canary_failure::baseline && sends()
         && e.now < call.deadline
         && (!saved.may_have_executed || call.idempotent == idempotence::yes);
}

void canary::abandon(call_info&, slot& notes, const outcome& why,
                     bool in_flight, env& e) {
  auto& saved = notes.as<progress>();
  mirrors_.take(saved.kept);
  auto was_overdue = take_from_canary(saved);
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

bool canary::counts(std::uint64_t run) const noexcept {
  return run == run_ && judged();
}

void canary::note_canary(const progress& saved, const outcome& o,
                         canary_verdict v, bool was_overdue, env& e) {
  catch_up(e);
  constexpr counter names[] = {counter::canary_succeeded,
                               counter::canary_failed, counter::canary_neutral};
  count(names[static_cast<std::size_t>(v)]);
  if (v != canary_verdict::neutral && !counts(saved.run))
    count(counter::late_results);
  if (!counts(saved.run))
    return;
  auto failed = v == canary_verdict::bad;
  if (v != canary_verdict::neutral)
    comparison_.add_canary(failed, time_of(o, v, saved.sent, e.now), rules_,
                           e.now);
  auto timed = !was_overdue && time_call(saved, o, v, e);
  if (v == canary_verdict::neutral)
    return timed ? weigh(e) : void();
  ++answers_;
  failures_in_a_row_ = failed && !o.blames_request() ? failures_in_a_row_ + 1
                                                     : 0;
  weigh(e);
}

// A call that ends before `max_p99`, and not because it was answered, says
// nothing about how long an answer takes, unless its time was over. Returns
// whether it counts.
bool canary::time_call(const progress& saved, const outcome& o,
                       canary_verdict v, env& e) {
  auto late = o.is(errc::deadline_exceeded) && v == canary_verdict::bad;
  auto slow = late || e.now - saved.sent > rules_.max_p99;
  if (!slow && v != canary_verdict::good)
    return false;
  comparison_.add_timed(slow);
  return true;
}

void canary::note_baseline(const progress& saved, const outcome& o,
                           canary_verdict v, env& e) {
  catch_up(e);
  constexpr counter names[] = {counter::baseline_succeeded,
                               counter::baseline_failed,
                               counter::baseline_neutral};
  count(names[static_cast<std::size_t>(v)]);
  if (v != canary_verdict::neutral && counts(saved.run))
    comparison_.add_baseline(v == canary_verdict::bad,
                             time_of(o, v, saved.sent, e.now), rules_, e.now);
}

// -- mirrors ------------------------------------------------------------------

void canary::start_mirror(const call_info& call, progress& saved,
                          const outcome& answer, env& e) {
  auto asked = mirrors_.take(saved.kept);
  // What a layer or a gate says is no answer to compare with, nor is that there
  // was none.
  auto is_answer = answer.ok || (answer.from_worker && !answer.unanswered);
  // Others may have joined it since.
  auto may_copy = saved.mirrored && call.idempotent == idempotence::yes;
  if (!may_copy || !is_answer || !counts(saved.run) || draining_ || !sends())
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
  if (!counts(m.run))
    return;
  ++compared_;
  differing_ += differs ? 1 : 0;
  CAISSON_ENSURE(differing_ <= compared_, "{} of {} answers differ", differing_,
                 compared_);
  auto rate = static_cast<double>(differing_) / static_cast<double>(compared_);
  if (compared_ >= rules_.min_calls && rate > rules_.max_difference_rate)
    roll_back(fmt::format("difference rate {:.4f}", rate), e);
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
    differences_.push_back(fmt::format("call {}: {}", m.call, detail));
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

// -- operation ----------------------------------------------------------------

std::string_view canary::state() const {
  constexpr std::string_view names[] = {"waiting", "", "promoted",
                                        "rolled_back"};
  return phase_ == phase::stage ? name_of_stage(stage_)
                                : names[static_cast<std::size_t>(phase_)];
}

bool canary::command(policy_command c, env& e) {
  catch_up(e);
  if (c.what == operator_command::enable && c.has_no_end()
      && phase_ == phase::rolled_back) {
    ++run_;
    enter(phase::waiting, 0, "enabled", e);
  }
  return policy_base::command(c, e);
}

std::map<std::string, std::string> canary::notes() const {
  std::map<std::string, std::string> out{{"limits", to_text(rules_)}};
  for (std::size_t i = 0; i < differences_.size(); ++i)
    out.emplace(fmt::format("difference_{}", i + 1), differences_[i]);
  return out;
}

void canary::prepare(canary_config&, env& e) {
  // What is due by now happens under the old settings.
  catch_up(e);
  old_shares_ = shares_of(config_.stages);
  old_share_ = share();
}

void canary::adapt(env& e) {
  if (!config_.enabled) {
    if (phase_ == phase::waiting)
      return use_rules();
    if (judged())
      give_up(e);
    ++run_;
    return enter(phase::waiting, 0, "disabled", e);
  }
  auto all = shares_of(config_.stages);
  auto stays = phase_ == phase::promoted && all.back() == old_share_;
  if (judged() && all != old_shares_ && !stays) {
    auto above = std::upper_bound(all.begin(), all.end(), old_share_);
    auto at = above == all.begin() ? 0 : above - all.begin() - 1;
    enter(phase::stage, static_cast<std::size_t>(at), "other stages", e);
  }
  use_rules();
  dwelt_ = phase_ == phase::stage && e.now >= time_after(since_, rules_.dwell);
  go_on_if_due(e);
}

void canary::forget(env& e) {
  ++run_;
  comparison_.clear();
  differences_.clear();
  enter(phase::waiting, 0, "reset", e);
}

void canary::list_gauges(std::vector<metric>& out) const {
  auto gauge = [&](std::string_view name, std::int64_t value) {
    out.push_back({name, value, true});
  };
  gauge("state", static_cast<std::int64_t>(phase_));
  gauge("stage",
        phase_ == phase::stage ? static_cast<std::int64_t>(stage_) + 1 : 0);
  gauge("share_ppm", std::llround(share() * 1e6));
  gauge("with_canary", with_canary_);
  gauge("mirroring", static_cast<std::int64_t>(mirrors_.size()));
  gauge("stage_answers", answers_);
  gauge("failures_in_a_row", failures_in_a_row_);
  comparison_.list_gauges(rules_, out);
}

} // namespace caisson
