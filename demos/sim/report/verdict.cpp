#include <sim/report/verdict.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace caisson::sim {

namespace {

constexpr std::size_t window_seconds = 5;

struct tally {
  std::uint64_t offered = 0;
  std::uint64_t good = 0;

  void add(const tally& x) {
    offered += x.offered;
    good += x.good;
  }

  // In whole numbers, so that a bound that is just met counts as met.
  [[nodiscard]] bool mostly_good() const { return good * 10 >= offered * 9; }
  [[nodiscard]] bool below_half() const { return good * 2 < offered; }
};

std::size_t whole_seconds(duration d) {
  auto n = std::chrono::floor<std::chrono::seconds>(d).count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
}

std::size_t first_second(duration from) {
  auto n = std::chrono::ceil<std::chrono::seconds>(from).count();
  return static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
}

// One tally per whole second of the load. What is answered later is in none.
std::vector<tally> tallies(const arm_result& r) {
  std::vector<tally> out(whole_seconds(r.length));
  for (const auto& row : r.seconds)
    if (row.index < out.size())
      out[row.index].add({row.requests.offered, row.requests.good});
  return out;
}

// The windows that begin at `first` or later and end within the load.
std::vector<tally> windows(const std::vector<tally>& seconds,
                           std::size_t first) {
  std::vector<tally> out;
  for (auto s = first; s + window_seconds <= seconds.size(); ++s) {
    tally sum;
    for (std::size_t i = s; i < s + window_seconds; ++i)
      sum.add(seconds[i]);
    out.push_back(sum);
  }
  return out;
}

void recovered(arm_result& r, std::size_t second) {
  r.verdict = verdict_kind::recovered;
  r.recovered_at = static_cast<std::uint32_t>(second);
  // From the first second on: from what should it have recovered?
  if (!r.recovery_from && second == 0)
    r.verdict = verdict_kind::no_fault;
}

} // namespace

void decide_verdict(arm_result& r) {
  r.verdict = verdict_kind::degraded;
  r.recovered_at.reset();
  auto from = r.recovery_from.value_or(duration::zero());
  auto first = first_second(from);
  auto all = windows(tallies(r), first);
  if (all.empty()) {
    if (tally{r.totals.offered, r.totals.good}.mostly_good())
      recovered(r, first);
    return;
  }
  // A window without a request proves nothing, unless there are only such.
  auto idle = std::ranges::all_of(all, [](auto& w) { return w.offered == 0; });
  auto good = std::ranges::find_if(all, [idle](auto& w) {
    return w.mostly_good() && (idle || w.offered > 0);
  });
  if (good != all.end())
    recovered(r, first + static_cast<std::size_t>(good - all.begin()));
  else if (from > duration::zero()
           && std::ranges::all_of(all, &tally::below_half))
    r.verdict = verdict_kind::stuck;
}

std::optional<duration> recovery_time(const arm_result& r) {
  if (!r.recovered_at)
    return std::nullopt;
  auto at = duration{std::chrono::seconds{*r.recovered_at}};
  return std::max(duration::zero(),
                  at - r.recovery_from.value_or(duration::zero()));
}

} // namespace caisson::sim
