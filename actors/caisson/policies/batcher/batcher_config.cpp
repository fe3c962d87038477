#include <caisson/policies/batcher/batcher_config.hpp>

#include <caisson/policy/policy_config.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

namespace caisson {

void describe(field_visitor& v, batcher_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.integer<std::uint32_t>(
    {"max_items", "a batch is sent when it has this many items", "items"},
    c.max_items, {1, 100'000});
  v.integer<std::uint32_t>(
    {"max_weight",
     "a batch is sent when its items weigh this much, and weighs at most this "
     "much unless a single item does; 0: weights do not matter"},
    c.max_weight, {0, heaviest_batch_item});
  v.on({"max_delay", "a batch is sent this long after its first item came; 0: "
                     "items wait only while `max_outstanding` batches are "
                     "in flight"},
       c.max_delay, {0ns, 1h});
  v.on({"adaptive", "whether a batch is sent sooner if, by the rate at which "
                    "items come, waiting would bring few further ones"},
       c.adaptive);
  v.integer<std::uint32_t>(
    {"min_items",
     "with `adaptive`: a batch with fewer items is not sent for their number; "
     "at most `max_items`",
     "items"},
    c.min_items, {1, 100'000});
  v.on({"min_delay", "with `adaptive`: a batch is sent this long after its "
                     "first item came if no further one is to be expected; at "
                     "most `max_delay`"},
       c.min_delay, {0ns, 1h});
  v.on({"rate_window", "with `adaptive`: how fast the rate is forgotten; what "
                       "came so long ago counts 1/e"},
       c.rate_window, {10ms, 1h});
  v.integer<std::uint32_t>({"max_outstanding",
                            "how many batches may be in flight at once; items "
                            "that come meanwhile wait",
                            "batches"},
                           c.max_outstanding, {1, 1'000});
  v.choice({"when_blocked", "what becomes of items that come while "
                            "`max_outstanding` batches are in flight; those "
                            "equal to one that waits are never rejected"},
           c.when_blocked);
  v.integer<std::uint32_t>(
    {"max_waiting",
     "how many items may be held that are not sent yet, at least `max_items`; "
     "further ones are rejected",
     "items"},
    c.max_waiting, {1, 1'000'000});
  v.on({"deadline_margin", "a batch is sent this long before the earliest "
                           "deadline in it: the time that a batch takes"},
       c.deadline_margin, {0ns, 1h});
  v.integer<std::uint32_t>(
    {"max_shards",
     "how many batches may be forming at once, one for each shard that has "
     "items; for a further one the batch that is due next is sent early",
     "batches"},
    c.max_shards, {1, 100'000});
  v.integer<std::uint32_t>(
    {"split_failed",
     "how often a batch that fails is split in halves that are sent again, to "
     "find the item at fault; 0: never. Items may be carried out more than "
     "once"},
    c.split_failed, {0, 20});
}

void check(const batcher_config& c, const setting_path& path, problems& out) {
  // Otherwise a batch could never fill up.
  if (c.max_waiting < c.max_items)
    out.push_back({problem_kind::relation, path / "max_waiting",
                   fmt::format("{} is less than max_items, allowed: {} to "
                               "1000000",
                               c.max_waiting, c.max_items)});
  if (c.min_items > c.max_items)
    out.push_back({problem_kind::relation, path / "min_items",
                   fmt::format("{} is more than max_items, allowed: 1 to {}",
                               c.min_items, c.max_items)});
  if (c.min_delay > c.max_delay)
    out.push_back({problem_kind::relation, path / "min_delay",
                   fmt::format("{} is more than max_delay, allowed: 0s to {}",
                               to_text(c.min_delay), to_text(c.max_delay))});
  // Nothing would ever wait for company.
  if (c.when_blocked == blocked_items::reject
      && c.max_delay == duration::zero())
    out.push_back({problem_kind::relation, path / "when_blocked",
                   "reject with max_delay of 0s sends each item alone, "
                   "allowed: wait, or a longer max_delay"});
}

} // namespace caisson
