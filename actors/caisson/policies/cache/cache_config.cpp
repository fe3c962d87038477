#include <caisson/policies/cache/cache_config.hpp>

#include <caisson/policy/policy.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <fmt/format.h>

namespace caisson {

namespace {

// With an answer that the default table never gives to an error for "the lists
// say no", so that `neutral` is known to come from the table (or from
// `by_value`).
constexpr list_meaning lists{verdict::transient, verdict::success,
                             verdict::success};

// The same for old values: an answer that blames the request is the server's
// present one.
constexpr list_meaning stale_lists{verdict::transient, verdict::success,
                                   verdict::success, verdict::success};

void describe_stale(field_visitor& v, cache_config& c) {
  using namespace std::chrono_literals;
  v.on({.key = "stale_while",
        .help = "how long a value whose `ttl` is over still answers while it "
                "is being refreshed; 0: not at all"},
       c.stale_while, {0ns, unlimited});
  v.on({.key = "stale_if_error",
        .help = "how long a value whose `ttl` is over stands in for errors; "
                "0: not at all"},
       c.stale_if_error, {0ns, unlimited});
  v.on({.key = "refresh_timeout",
        .help = "how long a refresh may take; then it is given up",
        .needs = {"stale_while"}},
       c.refresh_timeout, {1ms, 1h});
  v.on({.key = "refresh_backoff",
        .help = "after a load has failed, the worker is not asked about its "
                "key for this long while an old value can answer instead",
        .needs = {"stale_while", "stale_if_error"}},
       c.refresh_backoff, {1ms, 1h});
}

void describe_writes(field_visitor& v, cache_config& c) {
  using namespace std::chrono_literals;
  v.on({"flush_after", "the last write of a key is sent this long after the "
                       "first one that the worker lacks"},
       c.flush_after, {0ns, 1h});
  v.on({"flush_timeout", "how long a flush may take; then it is given up and "
                         "repeated"},
       c.flush_timeout, {1ms, 1h});
  v.on({"flush_backoff", "how long after a failed flush the next one starts; "
                         "the wait for its key doubles with each failure"},
       c.flush_backoff, {1ms, 1h});
  v.integer<std::uint32_t>({"flush_attempts",
                            "how often in a row the worker may answer a write "
                            "with an error before it is given up",
                            "attempts"},
                           c.flush_attempts, {1, 1'000'000});
  v.integer<std::uint32_t>(
    {"flushes", "how many flushes may be in flight at once", "flushes"},
    c.flushes, {1, 10'000});
  v.on({"staleness", "no write is acknowledged while the worker lacks an "
                     "acknowledged one that is older than this"},
       c.staleness, {1ms, unlimited});
  v.integer<std::uint32_t>({"max_unwritten",
                            "for how many keys the worker may lack a write; "
                            "further writes wait for the worker",
                            "keys"},
                           c.max_unwritten, {1, 1'000'000});
  v.on({"flush_again_on", "errors after which an acknowledged write is sent "
                          "again, and no others; empty: all that may be "
                          "transient"},
       c.writes.allow);
  v.on({"flush_never_on", "errors after which an acknowledged write is given "
                          "up, whatever `flush_again_on` says"},
       c.writes.deny);
}

void describe_errors(field_visitor& v, cache_config& c) {
  v.on({.key = "stale_on",
        .help = "errors that an old value stands in for, and no others; empty: "
                "as in the default table, and `shed`, `feature_off` and "
                "`throttled`",
        .needs = {"stale_if_error"}},
       c.failures.allow);
  v.on({.key = "stale_ignore",
        .help = "errors that are passed up, whatever `stale_on` says",
        .needs = {"stale_if_error"}},
       c.failures.deny);
  v.on({.key = "negative_on",
        .help = "errors that are kept for `negative_ttl`, and no others; "
                "empty: answers of the classes `fail` and `conflict`",
        .needs = {"negative_ttl"}},
       c.negative.allow);
  v.on({.key = "negative_ignore",
        .help = "errors that are not kept, whatever `negative_on` says",
        .needs = {"negative_ttl"}},
       c.negative.deny);
}

} // namespace

void describe(field_visitor& v, cache_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"ttl", "how long a value answers calls"}, c.ttl, {1ms, unlimited});
  v.integer<std::uint32_t>({"max_entries",
                            "how many answers are kept; one more evicts the "
                            "least recently used one",
                            "answers"},
                           c.max_entries, {1, 1'000'000});
  v.choice({"cacheable", "keyed: all calls with a key are cached; idempotent: "
                         "those of them that are marked idempotent"},
           c.cacheable);
  v.on({"single_flight", "whether calls for a key that is being loaded wait "
                         "for that answer instead of being sent"},
       c.single_flight);
  v.on({"join_within", "calls join one that was sent less than this long ago; "
                       "later ones send another"},
       c.join_within, {1ms, unlimited});
  v.on({"negative_ttl", "how long an error of the worker's answers calls; 0: "
                        "not at all"},
       c.negative_ttl, {0ns, unlimited});
  v.on({"unsafe", "whether the key of calls may be that of answers although "
                  "other layers of the stack take it for something else"},
       c.unsafe);
  describe_stale(v, c);
  describe_errors(v, c);
  describe_writes(v, c);
}

void check(const cache_config& c, const setting_path& path, problems& out) {
  using namespace std::chrono_literals;
  check_lists(c.failures, "stale_on", "stale_ignore", path, out);
  check_lists(c.negative, "negative_on", "negative_ignore", path, out);
  check_lists(c.writes, "flush_again_on", "flush_never_on", path, out);
  if (auto least = duration_sum(std::max(c.flush_after, 0ns),
                                std::max(c.flush_timeout, 0ns));
      c.staleness < least)
    out.push_back({problem_kind::relation, path / "staleness",
                   fmt::format("{} is below flush_after and flush_timeout "
                               "together, allowed: at least {}",
                               to_text(c.staleness), to_text(least))});
}

bool stands_in_for(const cache_config& c, const outcome& o, env& e) {
  switch (c.failures.judge(o, stale_lists, e)) {
    case verdict::failure:
    case verdict::transient:
    case verdict::refused:
      return true;
    case verdict::success:
      return false;
    case verdict::neutral:
      // The table calls these neutral so that they are not retried; but an old
      // value helps an overloaded service.
      return (o.is(errc::shed) || o.is(errc::feature_off)
              || o.is(errc::throttled))
             && !c.failures.by_value;
  }
  return false;
}

bool is_negative(const cache_config& c, const outcome& o, env& e) {
  if (c.negative_ttl == duration::zero() || !o.reply)
    return false;
  // Without any answer of a server nothing is known about the key.
  if (o.unanswered && o.answer.protocol == answer_protocol::none)
    return false;
  auto asked = c.negative.by_value || !c.negative.allow.empty();
  // Unless asked for others, only answers that are about the request, and so
  // about the key: not that the server fails, is down, or is too busy.
  if (!asked && (!o.from_worker || !o.blames_request()))
    return false;
  auto v = c.negative.judge(o, lists, e);
  return v == verdict::failure || v == verdict::transient
         || v == verdict::refused;
}

bool ends_old_value(const cache_config& c, const outcome& o, env& e) {
  return o.from_worker && o.may_have_executed && o.blames_request()
         && !stands_in_for(c, o, e);
}

verdict judge_flush(const cache_config& c, const outcome& o,
                    std::uint32_t refusals, env& e) {
  // A layer that answers in place of the worker has written nothing.
  if (o.ok)
    return o.from_worker ? verdict::success : verdict::transient;
  auto v = c.writes.judge(o, retry_lists, e);
  if (v == verdict::success || v == verdict::failure)
    return v;
  // Errors that the table calls neutral are transient, except for mistakes in
  // code.
  auto mistake = o.is(errc::callback_failed) || o.is(errc::invalid_config)
                 || o.is(errc::call_loop);
  // What the worker will never take must not keep others from being
  // acknowledged for ever.
  auto refused = is_refusal(o)
                 && (o.retry_after < duration::zero()
                     || refusals >= c.writes.attempts_for(o, c.flush_attempts));
  return mistake || refused ? verdict::failure : verdict::transient;
}

} // namespace caisson
