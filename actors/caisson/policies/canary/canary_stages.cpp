#include <caisson/policies/canary/canary_stages.hpp>

#include <caisson/base/ensure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

std::vector<double> shares_of(const std::vector<canary_stage>& stages) {
  std::vector<double> out;
  out.reserve(stages.size());
  for (const auto& x : stages)
    out.push_back(x.share);
  return out;
}

} // namespace

// -- what is in force ---------------------------------------------------------

std::string_view canary_stages::state() const {
  constexpr std::string_view names[] = {"waiting", "", "promoted",
                                        "rolled_back"};
  return phase_ == phase::stage ? name_of_stage(stage_)
                                : names[static_cast<std::size_t>(phase_)];
}

double canary_stages::share() const noexcept {
  switch (phase_) {
    case phase::stage:
      return config_.stages[stage_].share;
    case phase::promoted:
      return config_.stages.back().share;
    case phase::waiting:
    case phase::rolled_back:
      break;
  }
  return 0;
}

// After the last stage they may be of another time of day.
canary_comparison::old_latency canary_stages::old_latency() const noexcept {
  return phase_ == phase::promoted ? canary_comparison::old_latency::ignored
                                   : canary_comparison::old_latency::counts;
}

const canary_stage& canary_stages::ruling_stage() const {
  switch (phase_) {
    case phase::stage:
      return config_.stages[stage_];
    case phase::promoted:
      return config_.stages.back();
    case phase::waiting:
    case phase::rolled_back:
      break;
  }
  return config_.stages.front();
}

// -- changes ------------------------------------------------------------------

bool canary_stages::enter(phase next, std::size_t stage, std::string_view why,
                          env& e) {
  CAISSON_ENSURE(next != phase::stage || stage < config_.stages.size(),
                 "stage {} of {} begins", stage, config_.stages.size());
  auto from = state();
  phase_ = next;
  stage_ = stage;
  since_ = e.now;
  dwelt_ = false;
  answers_ = failures_in_a_row_ = compared_ = differing_ = 0;
  comparison_.restart(rules_, e.now);
  auto other_limit = use_rules();
  e.emit_change(from, state(), why);
  return other_limit;
}

bool canary_stages::use_rules() {
  auto before = rules_.max_p99;
  rules_ = rules_of(config_, ruling_stage());
  if (rules_.max_p99 == before)
    return false;
  comparison_.forget_timed();
  return true;
}

std::optional<std::size_t> canary_stages::set_config(canary_config config) {
  auto before = shares_of(config_.stages);
  auto had = share();
  config_ = std::move(config);
  auto all = shares_of(config_.stages);
  auto stays = phase_ == phase::promoted && all.back() == had;
  if (!judged() || all == before || stays)
    return std::nullopt;
  auto above = std::upper_bound(all.begin(), all.end(), had);
  auto at = above == all.begin() ? 0 : above - all.begin() - 1;
  return static_cast<std::size_t>(at);
}

// -- time ---------------------------------------------------------------------

time_point canary_stages::next() const {
  if (phase_ == phase::stage && !dwelt_)
    return time_after(since_, rules_.dwell);
  if (phase_ == phase::rolled_back)
    return time_after(since_, config_.retry_after);
  return never;
}

// -- answers, and what follows ------------------------------------------------

std::string canary_stages::add_mirrored(bool differs) {
  ++compared_;
  differing_ += differs ? 1 : 0;
  CAISSON_ENSURE(differing_ <= compared_, "{} of {} answers differ", differing_,
                 compared_);
  auto rate = static_cast<double>(differing_) / static_cast<double>(compared_);
  if (compared_ >= rules_.min_calls && rate > rules_.max_difference_rate)
    return fmt::format("difference rate {:.4f}", rate);
  return {};
}

std::string canary_stages::worse(time_point now) {
  if (rules_.max_failures_in_a_row != 0
      && failures_in_a_row_ >= rules_.max_failures_in_a_row)
    return fmt::format("{} failures in a row", failures_in_a_row_);
  return comparison_.worse_in(rules_, old_latency(), false, now);
}

// -- gauges -------------------------------------------------------------------

void canary_stages::list_position(std::vector<metric>& out) const {
  auto number = phase_ == phase::stage ? static_cast<std::int64_t>(stage_) + 1
                                       : 0;
  out.push_back({"state", static_cast<std::int64_t>(phase_), true});
  out.push_back({"stage", number, true});
  out.push_back({"share_ppm", std::llround(share() * 1e6), true});
}

void canary_stages::list_answers(std::vector<metric>& out) const {
  out.push_back({"stage_answers", answers_, true});
  out.push_back({"failures_in_a_row", failures_in_a_row_, true});
  comparison_.list_gauges(rules_, out);
}

} // namespace caisson::detail
