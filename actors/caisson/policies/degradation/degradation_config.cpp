#include <caisson/policies/degradation/degradation_config.hpp>

#include <caisson/base/names.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace caisson {

namespace {

constexpr std::size_t level_limit = 32;
constexpr std::size_t feature_limit = 64;

// It becomes part of the name of a gauge.
bool is_name(std::string_view x) {
  return std::all_of(x.begin(), x.end(), [](unsigned char c) {
    return c == '_' || c == '-' || (c >= '0' && c <= '9')
           || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

void check_level(const degradation_level& x,
                 const std::set<std::string_view>& known,
                 const setting_path& at, problems& out) {
  if (x.name.empty())
    out.push_back({problem_kind::missing, at / "name", "a level needs a name"});
  else if (!is_name(x.name))
    out.push_back({problem_kind::range, at / "name",
                   fmt::format("{} is not allowed, allowed: letters, digits, _ "
                               "and -",
                               detail::quoted(x.name))});
  else if (known.count(x.name) > 0)
    out.push_back({problem_kind::relation, at / "name",
                   fmt::format("another level is already called {}", x.name)});
  if (!x.parent.empty() && known.count(x.parent) == 0)
    out.push_back(
      {problem_kind::relation, at / "parent",
       fmt::format("{} is not the name of a level before this one", x.parent)});
  if (x.features.size() > feature_limit)
    out.push_back({problem_kind::range, at / "features",
                   fmt::format("{} features, allowed: at most {}",
                               x.features.size(), feature_limit)});
  if (std::any_of(x.features.begin(), x.features.end(),
                  [](auto& f) { return f.empty(); }))
    out.push_back({problem_kind::range, at / "features",
                   "has an empty name, allowed: names of features"});
  if (x.min_success == 0 && x.max_latency == unlimited)
    out.push_back({problem_kind::relation, at / "min_success",
                   "is 0 and max_latency unlimited, so that nothing switches "
                   "the level off, allowed: at least one of them"});
}

void check_dispatcher(const std::vector<std::string>& names,
                      const std::set<std::string_view>& known,
                      const setting_path& at, problems& out) {
  for (const auto& x : names)
    if (known.count(x) == 0)
      out.push_back({problem_kind::relation, at,
                     fmt::format("{} is not the name of a level", x)});
}

} // namespace

void describe(field_visitor& v, degradation_level& x) {
  using namespace std::chrono_literals;
  v.on({.key = "name",
        .help = "what the level is called; also the name of a feature",
        .required = true},
       x.name);
  v.on({"parent", "the level above it, one before it in the list: while that "
                  "one is off, this one is; empty: none"},
       x.parent);
  v.on({"features", "further features that are off while the level is, at most "
                    "64"},
       x.features);
  v.on({"min_success", "it is switched off if a smaller share of the calls "
                       "succeeds; 0: never for that reason"},
       x.min_success, {0.0, 1.0});
  v.on({"max_latency", "it is switched off if the percentile of the latency is "
                       "longer; unlimited: never for that reason"},
       x.max_latency, {1ms, unlimited});
}

void describe(field_visitor& v, degradation_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({.key = "levels",
        .help = "the levels, 1 to 32, parents before their children",
        .nonempty = true},
       c.levels);
  v.on({"held_off", "for operators: levels that are off, and with them those "
                    "below, whatever the rules say"},
       c.held_off);
  v.on({"held_on", "levels that no rule switches off"}, c.held_on);
  v.on({"window", "how far back calls count"}, c.window, {1s, 24h});
  v.integer({"min_calls", "with fewer calls in the window than this, no level "
                          "is switched off"},
            c.min_calls, {1, 1'000'000});
  v.on({"percentile", "which percentile of the latency counts"}, c.percentile,
       {0.0, 1.0});
  v.on({"check_every", "how often the rules are checked"}, c.check_every,
       {10ms, 1h});
  v.on({"patience", "how long to wait for the effect after a level was "
                    "switched off, before another one is switched off"},
       c.patience, {0s, 24h});
  v.on({"recover_after", "how long the numbers must have been healthy before a "
                         "level is switched on again"},
       c.recover_after, {0s, 24h});
  v.on({"recover_after_max",
        "if a level is switched off sooner than the current wait after one "
        "was switched on, the wait doubles, up to this"},
       c.recover_after_max, {0s, 24h});
  v.on({"recover_failures", "to count as healthy, failures must be at most "
                            "this share of those that switch the level off"},
       c.recover_failures, {0.0, 1.0});
  v.on({"recover_latency", "to count as healthy, the latency must be at most "
                           "this share of the one that switches the level off"},
       c.recover_latency, {0.0, 1.0});
  v.on({"count_only", "errors that count as failures, all others being "
                      "neutral; empty: the default table"},
       c.classify.allow);
  v.on({"ignore", "errors that are neutral; wins over count_only"},
       c.classify.deny);
}

void check(const degradation_config& c, const setting_path& path,
           problems& out) {
  auto all = path / "levels";
  if (c.levels.empty() || c.levels.size() > level_limit)
    out.push_back({problem_kind::range, all,
                   fmt::format("{} levels, allowed: 1 to {}", c.levels.size(),
                               level_limit)});
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < c.levels.size() && i < level_limit; ++i) {
    check_level(c.levels[i], known, all / i, out);
    known.insert(c.levels[i].name);
  }
  check_dispatcher(c.held_off, known, path / "held_off", out);
  check_dispatcher(c.held_on, known, path / "held_on", out);
  for (const auto& x : c.held_on)
    if (detail::contains(c.held_off, x))
      out.push_back({problem_kind::relation, path / "held_on",
                     fmt::format("{} is in held_off, too", x)});
  if (c.check_every > c.window)
    out.push_back({problem_kind::relation, path / "check_every",
                   fmt::format("{} is longer than the window, so that calls go "
                               "unseen, allowed: at most window ({})",
                               to_text(c.check_every), to_text(c.window))});
  if (c.recover_after > c.recover_after_max)
    out.push_back(
      {problem_kind::relation, path / "recover_after_max",
       fmt::format("{} is less than recover_after, allowed: at "
                   "least {}",
                   to_text(c.recover_after_max), to_text(c.recover_after))});
  check_lists(c.classify, "count_only", "ignore", path, out);
}

} // namespace caisson
