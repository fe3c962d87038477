#include <caisson/policies/deadline/learned_limit.hpp>

#include <caisson/settings/field.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting_path.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace std::chrono_literals;

void describe(field_visitor& v, learned_limit& c) {
  constexpr duration longest = 24h * 365;
  v.on({"on", "whether the limit is learned"}, c.on);
  v.on({"quantile", "which quantile of the durations"}, c.quantile,
       {0.5, 0.999});
  v.on({"factor", "how many times this quantile"}, c.factor, {1.0, 100.0});
  v.on({"deviations", "how many standard deviations more"}, c.deviations,
       {0.0, 100.0});
  v.on({"least", "the limit is never shorter"}, c.least, {1us, longest});
  v.on({"most", "the limit is never longer"}, c.most, {1us, longest});
  v.on({"window", "how far back durations count; the limit is computed anew "
                  "each fiftieth of it"},
       c.window, {100ms, 24h});
  v.integer({"minimum_samples", "with fewer durations in the window the limit "
                                "is `timeout`"},
            c.minimum_samples, {1, 1'000'000});
}

void check(const learned_limit& c, const setting_path& path, problems& out) {
  if (c.least > c.most)
    out.push_back({problem_kind::relation, path / "least",
                   fmt::format("{} is more than most, allowed: 1us to {}",
                               to_text(c.least), to_text(c.most))});
}

} // namespace caisson
