#include <caisson/base/ensure.hpp>
#include <caisson/policies/fallback.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, fallback_config& c) {
  describe_common(v, c);
  v.integer<std::uint32_t>({"max_concurrent",
                            "how many calls may be with actors as "
                            "alternatives at once; 0: no limit; values take "
                            "no place",
                            "calls"},
                           c.max_concurrent, {0, 1'000'000});
  v.on({"cache_share", "the share of a call's remaining time that an "
                       "alternative that is a cache may take"},
       c.cache_share, {0.001, 1.0});
  v.on({"fall_back_on", "errors that are answered by an alternative, and no "
                        "others; empty: as in the default table, and `shed`, "
                        "`feature_off` and `throttled`"},
       c.classify.allow);
  v.on({"ignore", "errors that are passed up, whatever `fall_back_on` says"},
       c.classify.deny);
}

void check(const fallback_config& c, const setting_path& path, problems& out) {
  check_lists(c.classify, "fall_back_on", "ignore", path, out);
}

// -- construction -------------------------------------------------------------

namespace {

problems problems_of_chain(const std::vector<alternative_kind>& chain) {
  if (!chain.empty())
    return {};
  return {{problem_kind::missing, "alternatives",
           "0 is out of range, allowed: 1 or more"}};
}

} // namespace

fallback::fallback(fallback_config c, std::vector<alternative_kind> chain)
  : policy_base(std::move(c), problems_of_chain(chain)),
    chain_(std::move(chain)) {}

fallback::fallback(fallback_config c, std::size_t actors)
  : fallback(std::move(c),
             std::vector<alternative_kind>(actors, alternative_kind::actor)) {}

// -- calls --------------------------------------------------------------------

decision fallback::admit(call_info&, slot& notes, env&) {
  notes.start<call_state>();
  count(counter::calls);
  return decision::pass();
}

decision fallback::complete(call_info& call, slot& notes, outcome& result,
                            env& e) {
  auto& saved = notes.as<call_state>();
  auto j = judge(result, e);
  if (saved.limit <= e.now && e.now < call.deadline
      && result.is(errc::deadline_exceeded))
    count(counter::cache_cut_off);
  // A retrier further out must know if any of them may have done the work.
  saved.may_have_executed = saved.may_have_executed || result.may_have_executed;
  result.may_have_executed = saved.may_have_executed;
  switch (j) {
    case judgement::good:
      return answer(call, saved, e);
    case judgement::not_ours:
      return give_up(saved, counter::passed_up);
    case judgement::bad:
      break;
  }
  CAISSON_ENSURE(saved.next <= chain_.size()
                   && (!saved.placed || (saved.next > 0 && running_ > 0)),
                 "alternative {} of {}, {} calls have a place", saved.next,
                 chain_.size(), running_);
  auto first = saved.next;
  if (saved.next == 0 && config_.choose) {
    first = first_for(call, result, e);
    if (first == chain_.size())
      return give_up(saved, counter::declined);
  }
  auto next = next_for(saved, first);
  if (auto why = why_not(call, saved, next, e); why != counter::count_)
    return give_up(saved, why);
  if (next > first)
    count(counter::passed_over);
  count(saved.next == 0 ? counter::fell_back : counter::tried_next);
  CAISSON_ENSURE(next >= first && next < chain_.size(), "alternative {} of {}",
                 next, chain_.size());
  auto asks = chain_[next] != alternative_kind::value;
  keep_place(saved, asks);
  saved.next = next + 1;
  saved.limit = limit_of(call, next, e.now);
  if (asks)
    e.start_child({.parents = {call.id},
                   .target = static_cast<std::uint32_t>(next),
                   .deadline = saved.limit});
  else
    e.answer(call.id, next);
  return decision::hold();
}

fallback::judgement fallback::judge(const outcome& o, env& e) const {
  // As `count_lists`, but with an answer that the default table never gives to
  // an error for "the lists say no", so that `neutral` is known to come from
  // the table (or from `by_value`). An answer that blames the request is final:
  // an alternative has no better one.
  static constexpr list_meaning lists{verdict::transient, verdict::success,
                                      verdict::success, verdict::success};
  switch (config_.classify.judge(o, lists, e)) {
    case verdict::failure:
    case verdict::transient:
    case verdict::refused:
      return judgement::bad;
    case verdict::success:
      return o.ok || config_.classify.by_value ? judgement::good
                                               : judgement::not_ours;
    case verdict::neutral:
      // The table calls these neutral so that they are not retried; but a
      // cheaper answer helps an overloaded service.
      return (o.is(errc::shed) || o.is(errc::feature_off)
              || o.is(errc::throttled))
                 && !config_.classify.by_value
               ? judgement::bad
               : judgement::not_ours;
  }
  return judgement::not_ours;
}

bool fallback::full() const noexcept {
  return config_.max_concurrent != 0
         && running_ >= std::int64_t{config_.max_concurrent};
}

time_point fallback::limit_of(const call_info& call, std::uint64_t which,
                              time_point now) const noexcept {
  if (chain_[which] != alternative_kind::cache || call.deadline == never)
    return never;
  return time_after(now,
                    duration_times(call.deadline - now, config_.cache_share));
}

std::uint64_t fallback::first_for(const call_info& call, const outcome& o,
                                  env& e) const {
  auto choose = [&] { return config_.choose(call, o); };
  auto chosen = call_user("choose", choose, e).value_or(std::nullopt);
  return std::min<std::uint64_t>(chosen.value_or(chain_.size()), chain_.size());
}

std::uint64_t fallback::next_for(const call_state& saved,
                                 std::uint64_t i) const noexcept {
  // A call that is with an actor already has a place for all of them.
  if (!saved.placed && full())
    while (i < chain_.size() && chain_[i] != alternative_kind::value)
      ++i;
  return i;
}

fallback::counter fallback::why_not(const call_info& call,
                                    const call_state& saved, std::uint64_t next,
                                    const env& e) const noexcept {
  if (saved.next == chain_.size())
    return counter::all_failed;
  if (e.now >= call.deadline)
    return counter::out_of_time;
  if (next == chain_.size())
    return counter::fallback_full;
  return counter::count_;
}

decision fallback::answer(const call_info& call, call_state& saved, env& e) {
  if (saved.next == 0) {
    count(counter::primary_answered);
    return decision::pass();
  }
  CAISSON_ENSURE(saved.next <= chain_.size(), "alternative {} of {} answers",
                 saved.next, chain_.size());
  keep_place(saved, false);
  count(counter::answered_by_alternative);
  e.emit({.kind = event_kind::fell_back,
          .to = fmt::format_int(saved.next - 1).c_str(),
          .call = call.id});
  return decision::pass();
}

decision fallback::give_up(call_state& saved, counter why) {
  keep_place(saved, false);
  count(why);
  return decision::pass();
}

void fallback::abandon(call_info&, slot& notes, const outcome&, bool, env&) {
  auto& saved = notes.as<call_state>();
  CAISSON_ENSURE(
    saved.next <= chain_.size() && (saved.next > 0 || !saved.placed),
    "a call with alternative {} of {} has a place", saved.next, chain_.size());
  keep_place(saved, false);
  count(saved.next == 0 ? counter::abandoned : counter::abandoned_in_fallback);
}

// Takes a place for the call or gives it back, unless that was done before.
void fallback::keep_place(call_state& saved, bool keep) {
  if (saved.placed != keep)
    running_ += keep ? 1 : -1;
  CAISSON_ENSURE(running_ >= 0, "{} calls have a place", running_);
  saved.placed = keep;
}

// -- operation ----------------------------------------------------------------

void fallback::list_gauges(std::vector<metric>& out) const {
  out.push_back({"running", running_, true});
}

} // namespace caisson
