#include <caisson/policy/stage_budget.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

namespace {

constexpr duration longest = std::chrono::hours(24 * 365);

constexpr std::size_t most_stages = 64;

const stage_share* find_stage(const stage_budget_config& c,
                              std::string_view name) noexcept {
  auto i = std::find_if(c.stages.begin(), c.stages.end(),
                        [&](const stage_share& x) { return x.name == name; });
  return i == c.stages.end() ? nullptr : &*i;
}

duration share_in(const stage_budget_config& c, std::string_view name) {
  if (auto* x = find_stage(c, name))
    return x->share;
  throw std::out_of_range{fmt::format("the budget has no stage {}", name)};
}

void check_names(const stage_budget_config& c, const setting_path& path,
                 problems& out) {
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < c.stages.size(); ++i) {
    const auto& name = c.stages[i].name;
    auto at = path / "stages" / i / "name";
    if (name.empty())
      out.push_back({problem_kind::missing, at, "a stage needs a name"});
    else if (!known.insert(name).second)
      out.push_back({problem_kind::relation, at,
                     fmt::format("another stage is already called {}", name)});
  }
}

} // namespace

void describe(field_visitor& v, stage_share& x) {
  using std::chrono::microseconds;
  v.on({.key = "name", .help = "what the stage is called", .required = true},
       x.name);
  v.on(
    {.key = "share", .help = "how long the stage may take", .required = true},
    x.share, {microseconds(1), longest});
}

void describe(field_visitor& v, stage_budget_config& c) {
  using std::chrono::microseconds;
  v.on({"total", "how long all stages may take together"}, c.total,
       {microseconds(1), longest});
  v.on({.key = "stages",
        .help = "the stages, 1 to 64, each with a name and its share",
        .required = true},
       c.stages);
  v.on({"reserve", "what no stage may use; not more than total together with "
                   "the shares"},
       c.reserve, {duration::zero(), longest});
}

void check(const stage_budget_config& c, const setting_path& path,
           problems& out) {
  if (c.stages.empty() || c.stages.size() > most_stages) {
    out.push_back({problem_kind::range, path / "stages",
                   fmt::format("{} stages, allowed: 1 to {}", c.stages.size(),
                               most_stages)});
    return;
  }
  check_names(c, path, out);
  auto sum = std::max(c.reserve, duration::zero());
  for (const auto& x : c.stages)
    sum = duration_sum(sum, std::max(x.share, duration::zero()));
  if (sum > c.total)
    out.push_back({problem_kind::relation, path / "total",
                   fmt::format("{} is less than the shares and the reserve, "
                               "allowed: at least {}",
                               to_text(c.total), to_text(sum))});
}

// -- clock --------------------------------------------------------------------

duration stage_clock::left(time_point now) const noexcept {
  return time_until(end_, std::max(now, start_));
}

duration stage_clock::time_for(std::string_view stage, time_point now) const {
  auto share = share_in(*budget_, stage);
  auto most = left(now);
  if (most <= budget_->reserve)
    return duration::zero();
  return std::min(share, most - budget_->reserve);
}

time_point stage_clock::limit_of(std::string_view stage, time_point now) const {
  return time_after(now, time_for(stage, now));
}

// -- budget -------------------------------------------------------------------

stage_budget::stage_budget(stage_budget_config c) {
  require_valid(c);
  config_ = std::make_shared<const stage_budget_config>(std::move(c));
}

bool stage_budget::has(std::string_view stage) const noexcept {
  return find_stage(*config_, stage) != nullptr;
}

duration stage_budget::share_of(std::string_view stage) const {
  return share_in(*config_, stage);
}

stage_clock stage_budget::start(time_point now) const {
  return start(now, never);
}

stage_clock stage_budget::start(time_point now, time_point deadline) const {
  return {config_, now, std::min(time_after(now, config_->total), deadline)};
}

} // namespace caisson
