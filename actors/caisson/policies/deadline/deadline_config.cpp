#include <caisson/policies/deadline/deadline_config.hpp>

#include <caisson/policy/policy_config.hpp>
#include <caisson/policy/stage_budget.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <fmt/format.h>

namespace caisson {

namespace {

constexpr duration longest_timeout = std::chrono::hours(24 * 365);

} // namespace

void describe(field_visitor& v, deadline_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"timeout", "how long a call may stay below this layer"}, c.timeout,
       {1us, longest_timeout});
  v.on({"min_left", "a call with less time left than this is refused; not more "
                    "than `timeout`"},
       c.min_left, {0ns, longest_timeout});
  v.on({"share", "the share of its remaining time that a call may stay below "
                 "this layer, so that a retrier has time for another attempt"},
       c.share, {0.001, 1.0});
  v.on({"least", "however small the `share`, a call gets this long, and at "
                 "least `min_left`, if it has that much time left"},
       c.least, {1us, longest_timeout});
  v.on({"reserve", "the part of a call's remaining time that the layers below "
                   "may not use; a call with no more time left than this is "
                   "refused"},
       c.reserve, {0ns, longest_timeout});
  v.on({"learned", "a limit in place of `timeout` that follows from how long "
                   "calls take"},
       c.learned);
}

void check(const deadline_config& c, const setting_path& path, problems& out) {
  // Otherwise every call would be refused.
  if (c.min_left > c.timeout)
    out.push_back({problem_kind::relation, path / "min_left",
                   fmt::format("{} is more than timeout, allowed: 0s to {}",
                               to_text(c.min_left), to_text(c.timeout))});
  // Otherwise the share would have no effect.
  if (c.share < 1 && c.least > c.timeout)
    out.push_back({problem_kind::relation, path / "least",
                   fmt::format("{} is more than timeout, so that share has no "
                               "effect, allowed: 1us to {}, or share of 1",
                               to_text(c.least), to_text(c.timeout))});
  if (c.learned.on && c.min_left > c.learned.least)
    out.push_back({problem_kind::relation, path / "min_left",
                   fmt::format("{} is more than learned.least, allowed: 0s to "
                               "{}",
                               to_text(c.min_left), to_text(c.learned.least))});
}

deadline_config deadline_of(const stage_budget& budget,
                            std::string_view stage) {
  deadline_config c;
  c.timeout = budget.share_of(stage);
  c.reserve = budget.config().reserve;
  return c;
}

} // namespace caisson
