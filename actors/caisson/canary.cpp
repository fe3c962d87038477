#include <caisson/canary.hpp>

#include <caisson/callback.hpp>
#include <caisson/detail/hash.hpp>
#include <caisson/random.hpp>

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

// One caller may ask for ten things in a row that there never were.
bool blames_request(const outcome& o) {
  return o.kind == answer_class::fail || o.kind == answer_class::conflict;
}

} // namespace

// -- construction -------------------------------------------------------------

canary::canary(canary_config c, canary_host host)
  : policy_base(std::move(c)), host_(std::move(host)) {}

// -- calls: admission ---------------------------------------------------------

decision canary::admit(call_info& call, slot& notes, env& e) {
  auto* content = std::exchange(next_, nullptr);
  catch_up(e);
  if (phase_ == phase::waiting && config_.enabled && host_.present)
    begin("first call", e);
  auto& my = notes.start<progress>();
  my.sent = e.now;
  my.run = run_;
  if (is_for_canary(call, e)) {
    if (sends()) {
      count(counter::to_canary);
      my.where = place::canary;
      ++with_canary_;
      e.start_child({.parents = {call.id}, .target = 0});
      return decision::hold();
    }
    count(counter::observed);
  }
  count(counter::to_baseline);
  my.mirrored = is_mirrored(call, e);
  if (my.mirrored && host_.keep && content)
    my.kept = mirrors_.keep(host_.keep(content));
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

decision canary::settle(call_info& call, slot& notes, outcome& result, env& e) {
  auto& my = notes.as<progress>();
  my.reached = my.reached || result.reached;
  result.reached = my.reached;
  if (my.where == place::second)
    return decision::pass();
  auto v = verdict_on(result, config_, e);
  if (my.where == place::baseline) {
    note_baseline(my, result, v, e);
    start_mirror(call, my, result, e);
    return decision::pass();
  }
  --with_canary_;
  note_canary(my, result, v, e);
  if (v != canary_verdict::bad || !may_repeat(call, my, e))
    return decision::pass();
  count(counter::given_to_baseline);
  e.tell({.kind = event_kind::fell_back, .to = "baseline", .call = call.id});
  my.where = place::second;
  e.resume(call.id);
  return decision::hold();
}

bool canary::may_repeat(const call_info& call, const progress& my,
                        env& e) const {
  return config_.on_failure == on_canary_failure::baseline && sends()
         && e.now < call.deadline
         && (!my.reached || call.idempotent == idempotence::yes);
}

void canary::abandon(call_info&, slot& notes, const outcome& why,
                     bool in_flight, env& e) {
  auto& my = notes.as<progress>();
  mirrors_.take(my.kept);
  if (my.where == place::second)
    return;
  // A call that was not sent says nothing about either side.
  auto v = in_flight ? verdict_on(why, config_, e) : canary_verdict::neutral;
  if (my.where == place::baseline)
    return note_baseline(my, why, v, e);
  --with_canary_;
  note_canary(my, why, v, e);
}

bool canary::counts(std::uint64_t run) const noexcept {
  return run == run_ && judged();
}

void canary::note_canary(const progress& my, const outcome& o, canary_verdict v,
                         env& e) {
  catch_up(e);
  constexpr counter names[] = {counter::canary_succeeded,
                               counter::canary_failed, counter::canary_neutral};
  count(names[static_cast<std::size_t>(v)]);
  if (v == canary_verdict::neutral)
    return;
  if (!counts(my.run))
    return count(counter::late_results);
  auto failed = v == canary_verdict::bad;
  ++answers_;
  failures_in_a_row_ = failed && !blames_request(o) ? failures_in_a_row_ + 1
                                                    : 0;
  comparison_.add_canary(failed, time_of(o, v, my.sent, e.now), config_, e.now);
  weigh(e);
}

void canary::note_baseline(const progress& my, const outcome& o,
                           canary_verdict v, env& e) {
  catch_up(e);
  constexpr counter names[] = {counter::baseline_succeeded,
                               counter::baseline_failed,
                               counter::baseline_neutral};
  count(names[static_cast<std::size_t>(v)]);
  if (v != canary_verdict::neutral && counts(my.run))
    comparison_.add_baseline(v == canary_verdict::bad,
                             time_of(o, v, my.sent, e.now), config_, e.now);
}

// -- mirrors ------------------------------------------------------------------

void canary::start_mirror(const call_info& call, progress& my,
                          const outcome& answer, env& e) {
  auto asked = mirrors_.take(my.kept);
  // What a layer or a gate says is no answer to compare with.
  if (!my.mirrored || !(answer.ok || answer.from_worker) || !counts(my.run)
      || draining_ || !sends())
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
                         .run = my.run,
                         .asked = std::move(asked),
                         .answer = std::move(kept),
                         .ok = answer.ok,
                         .code = answer.code,
                         .category = answer.category});
}

decision canary::child_done(call_id child, outcome& result, env& e) {
  // A child that is no mirror is settled with its parent.
  auto m = mirrors_.end(child);
  if (!m)
    return decision::pass();
  // A child that ended for another reason has no answer.
  auto ended = !result.ok
               && verdict_on(result, config_, e) == canary_verdict::neutral;
  auto difference = ended ? std::nullopt
                          : canary_mirrors::difference(*m, result, host_, e);
  if (difference)
    note_mirror(*m, *difference, e);
  else
    count(counter::mirrors_unjudged);
  return decision::pass();
}

void canary::note_mirror(const canary_mirrors::mirror& m,
                         std::string_view difference, env& e) {
  catch_up(e);
  auto differs = !difference.empty();
  count(differs ? counter::mirrors_differing : counter::mirrors_equal);
  if (differs)
    e.tell(
      {.kind = event_kind::differed, .detail = difference, .call = m.call});
  if (!counts(m.run))
    return;
  ++compared_;
  differing_ += differs ? 1 : 0;
  auto rate = static_cast<double>(differing_) / static_cast<double>(compared_);
  if (compared_ >= config_.min_calls && rate > config_.max_difference_rate)
    roll_back(fmt::format("difference rate {:.4f}", rate), e);
}

void canary::drain(env& e) {
  draining_ = true;
  for (auto child : mirrors_.end_all()) {
    count(counter::mirrors_unjudged);
    e.cancel_child(child);
  }
}

// -- stages -------------------------------------------------------------------

double canary::share() const noexcept {
  switch (phase_) {
    case phase::stage:
      return config_.stages[stage_];
    case phase::promoted:
      return config_.stages.back();
    case phase::waiting:
    case phase::rolled_back:
      break;
  }
  return 0;
}

bool canary::judged() const noexcept {
  return phase_ == phase::stage || phase_ == phase::promoted;
}

// After the last stage they may be of another time of day.
detail::canary_comparison::old_latency canary::old_latency() const noexcept {
  return phase_ == phase::promoted
           ? detail::canary_comparison::old_latency::ignored
           : detail::canary_comparison::old_latency::counts;
}

time_point canary::wakeup() const {
  if (phase_ == phase::stage && !dwelt_)
    return time_after(since_, config_.dwell);
  if (phase_ == phase::rolled_back)
    return time_after(since_, config_.retry_after);
  return never;
}

void canary::wake(env& e) {
  catch_up(e);
}

// What is due by now.
void canary::catch_up(env& e) {
  if (e.now < wakeup())
    return;
  if (phase_ == phase::rolled_back)
    return begin("retry_after over", e);
  dwelt_ = phase_ == phase::stage;
  go_on_if_due(e);
}

void canary::begin(std::string_view why, env& e) {
  ++run_;
  comparison_.clear();
  enter(phase::stage, 0, why, e);
}

void canary::enter(phase next, std::size_t stage, std::string_view why,
                   env& e) {
  auto from = state();
  phase_ = next;
  stage_ = stage;
  since_ = e.now;
  dwelt_ = false;
  answers_ = failures_in_a_row_ = compared_ = differing_ = 0;
  comparison_.restart(config_, e.now);
  if (auto to = state(); to != from)
    e.tell({.kind = event_kind::state_changed,
            .from = from,
            .to = to,
            .detail = why});
}

void canary::weigh(env& e) {
  if (config_.max_failures_in_a_row != 0
      && failures_in_a_row_ >= config_.max_failures_in_a_row)
    return roll_back(fmt::format("{} failures in a row", failures_in_a_row_),
                     e);
  auto why = comparison_.worse_in(config_, old_latency(), false);
  if (!why.empty())
    return roll_back(why, e);
  go_on_if_due(e);
}

void canary::go_on_if_due(env& e) {
  if (phase_ != phase::stage || !dwelt_ || answers_ < config_.min_calls)
    return;
  auto why = comparison_.worse_in(config_, old_latency(), true);
  if (!why.empty())
    return roll_back(why, e);
  if (stage_ + 1 < config_.stages.size()) {
    count(counter::went_on);
    return enter(phase::stage, stage_ + 1, "as good as the baseline", e);
  }
  count(counter::promotions);
  enter(phase::promoted, stage_, "as good as the baseline", e);
}

void canary::roll_back(std::string_view why, env& e) {
  ++run_;
  count(counter::rollbacks);
  enter(phase::rolled_back, 0, why, e);
}

// -- operation ----------------------------------------------------------------

std::string_view canary::state() const {
  constexpr std::string_view names[] = {"waiting", "", "promoted",
                                        "rolled_back"};
  return phase_ == phase::stage ? name_of_stage(stage_)
                                : names[static_cast<std::size_t>(phase_)];
}

bool canary::command(operator_command c, env& e) {
  catch_up(e);
  if (c == operator_command::enable && phase_ == phase::rolled_back) {
    ++run_;
    enter(phase::waiting, 0, "enabled", e);
  }
  return policy_base::command(c, e);
}

void canary::prepare(canary_config&, env& e) {
  // What is due by now happens under the old settings.
  catch_up(e);
  old_stages_ = config_.stages;
  old_share_ = share();
}

void canary::adapt(env& e) {
  if (!config_.enabled) {
    if (phase_ == phase::waiting)
      return;
    ++run_;
    return enter(phase::waiting, 0, "disabled", e);
  }
  auto& all = config_.stages;
  auto stays = phase_ == phase::promoted && all.back() == old_share_;
  if (judged() && all != old_stages_ && !stays) {
    auto above = std::upper_bound(all.begin(), all.end(), old_share_);
    auto at = above == all.begin() ? 0 : above - all.begin() - 1;
    enter(phase::stage, static_cast<std::size_t>(at), "other stages", e);
  }
  dwelt_ = phase_ == phase::stage && e.now >= time_after(since_, config_.dwell);
  go_on_if_due(e);
}

void canary::forget(env& e) {
  ++run_;
  comparison_.clear();
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
  comparison_.list_gauges(config_, out);
}

} // namespace caisson
