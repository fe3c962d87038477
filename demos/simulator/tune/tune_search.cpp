#include <simulator/tune/tune_search.hpp>

#include <simulator/tune/confidence.hpp>
#include <simulator/tune/halton.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

// The first race begins with this share of the trials.
constexpr std::size_t first_share = 8;
// Around how many of the best further candidates are drawn.
constexpr std::size_t parents = 6;
constexpr double first_distance = 0.25;
constexpr double narrowing = 0.7;
constexpr std::size_t most_rounds = 1000;

std::size_t half_of(std::size_t n) {
  return (n + 1) / 2;
}

} // namespace

std::vector<tune_contender>
tune_search_result::contenders(const tune_targets& targets,
                               draw_key key) const {
  std::vector<tune_contender> out;
  if (trials == 0)
    return out;
  bootstrap chance{trials, key};
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].rows.size() >= trials)
      out.push_back({i, &candidates[i].rows,
                     chance.sure_of_needs(candidates[i].rows, targets)});
  return out;
}

tune_search::tune_search(tune_space space, tune_targets targets,
                         tune_search_options options, player play)
  : space_(std::move(space)), targets_(std::move(targets)),
    options_(std::move(options)), play_(std::move(play)) {}

tune_search_result tune_search::run(tune_candidate present) {
  if (present.in_space)
    seen_.insert(present.point);
  found_.candidates.push_back(std::move(present));
  ids first{0};
  if (play(first, options_.trials) && !add_all()) {
    auto left = options_.budget - std::min(options_.budget, found_.spent);
    auto count = affordable(options_.budget, std::min(options_.first, left));
    if (race(add(spread(std::max<std::size_t>(1, count)))))
      refine(std::clamp<std::size_t>(count / 8, 4, 32));
  }
  conclude();
  return std::move(found_);
}

// -- racing -------------------------------------------------------------------

// How many trials the candidates have that are still in a race, by round.
std::vector<std::size_t> tune_search::race_trials() const {
  std::vector<std::size_t> out;
  for (auto n = std::max<std::size_t>(1, options_.trials / first_share);
       n < options_.trials; n *= 2)
    out.push_back(n);
  out.push_back(options_.trials);
  return out;
}

std::size_t tune_search::race_cost(std::size_t count) const {
  std::size_t out = 0;
  std::size_t before = 0;
  for (auto n : race_trials()) {
    out += count * (n - before);
    before = n;
    count = half_of(count);
  }
  return out;
}

// How many can race, at most `most`, with so many trials.
std::size_t tune_search::affordable(std::size_t most, std::size_t spend) const {
  std::size_t lo = 0;
  auto hi = std::min(most, spend);
  while (lo < hi) {
    auto middle = lo + half_of(hi - lo);
    if (race_cost(middle) <= spend)
      lo = middle;
    else
      hi = middle - 1;
  }
  return lo;
}

// Leaves out those that are not allowed.
bool tune_search::play(ids& which, std::size_t trials) {
  auto going = play_(found_.candidates, which, trials);
  std::erase_if(which,
                [&](std::size_t i) { return !found_.candidates[i].allowed; });
  found_.spent = 0;
  for (const auto& c : found_.candidates)
    found_.spent += c.rows.size();
  found_.interrupted = found_.interrupted || !going;
  return going;
}

bool tune_search::race(ids which) {
  for (auto n : race_trials()) {
    if (which.empty())
      return true;
    if (!play(which, n))
      return false;
    which = best_with_front(having(n, which), n, targets_);
    // Without time for a race, the best so far go to its end.
    which.resize(enough() ? std::min<std::size_t>(which.size(), 2)
                          : half_of(which.size()));
  }
  return true;
}

std::vector<tune_contender> tune_search::having(std::size_t trials,
                                                const ids& some) const {
  std::vector<tune_contender> out;
  for (auto i : some)
    if (found_.candidates[i].rows.size() >= trials)
      out.push_back({i, &found_.candidates[i].rows});
  return out;
}

// -- candidates ---------------------------------------------------------------

tune_search::ids tune_search::add(const std::vector<tune_point>& points) {
  ids out;
  for (const auto& p : points) {
    out.push_back(found_.candidates.size());
    found_.candidates.push_back({.point = p});
  }
  return out;
}

// False if there are too many. Otherwise all are tried, unless it is stopped.
bool tune_search::add_all() {
  // Without a budget that ends it, as much as for two races.
  auto left = options_.budget - std::min(options_.budget, found_.spent);
  auto most = std::min(left, 2 * options_.first) / options_.trials;
  auto count = space_.points(most + 2);
  if (count > most + seen_.size())
    return false;
  std::vector<tune_point> all;
  for (std::size_t i = 0; i < count; ++i)
    if (auto p = space_.nth(i); seen_.insert(p).second)
      all.push_back(std::move(p));
  auto which = add(all);
  // In steps, so that something can be compared when it is stopped.
  for (auto n : race_trials()) {
    if (enough()) {
      race(std::move(which));
      return true;
    }
    if (!play(which, n))
      return true;
  }
  found_.complete = true;
  return true;
}

std::vector<tune_point> tune_search::spread(std::size_t count) {
  halton_sequence places{space_.axes().size(), options_.key};
  std::vector<tune_point> out;
  // Places with the same values come again and again in a small space.
  for (std::uint64_t i = 0; out.size() < count && i < 20 * count + 100; ++i)
    if (auto p = space_.at(places.point(i)); seen_.insert(p).second)
      out.push_back(std::move(p));
  return out;
}

std::vector<tune_point>
tune_search::refined_points(const ids& best, std::size_t count, double distance,
                            std::size_t round) {
  keyed_random random{options_.key.with("refine").with(round)};
  std::vector<tune_point> out;
  auto take = [&](tune_point p) {
    if (out.size() < count && seen_.insert(p).second)
      out.push_back(std::move(p));
  };
  // Half of them beside the best, and the others around all of its like. With
  // two objectives each of these is the best.
  auto two = targets_.objectives.size() == 2;
  auto centre = best[two ? round % best.size() : 0];
  auto beside = space_.around(found_.candidates[centre].point, distance);
  for (auto i = beside.size(); i > 1; --i)
    std::swap(beside[i - 1], beside[random.below(i)]);
  for (std::size_t i = 0; i < beside.size() && out.size() < half_of(count); ++i)
    take(beside[i]);
  for (std::size_t i = 0; i < 20 * count && out.size() < count; ++i) {
    const auto& from = found_.candidates[best[i % best.size()]];
    take(space_.near(from.point, distance, random));
  }
  for (auto& p : beside)
    take(std::move(p));
  return out;
}

void tune_search::refine(std::size_t count) {
  auto distance = first_distance;
  std::size_t leader = 0;
  found_.trials = options_.trials;
  for (std::size_t round = 0; round < most_rounds && !enough(); ++round) {
    auto left = options_.budget - std::min(options_.budget, found_.spent);
    auto next = affordable(count, left);
    if (next == 0)
      return;
    auto best = best_with_front(found_.contenders(targets_, options_.key),
                                options_.trials, targets_);
    best.resize(std::min(best.size(), parents));
    // As in pattern search, steps are shorter where they led to nothing.
    if (best[0] == leader)
      distance *= narrowing;
    leader = best[0];
    auto points = refined_points(best, next, distance, round);
    // Nothing new there, nor anywhere nearer.
    if (points.empty() && distance < 1e-3)
      return;
    if (!race(add(points)))
      return;
  }
}

// -- the end ------------------------------------------------------------------

// What is stopped early can be compared with fewer trials.
void tune_search::conclude() {
  found_.trials = std::min(options_.trials, found_.candidates[0].rows.size());
  std::size_t most_rows = 0;
  for (std::size_t i = 1; i < found_.candidates.size(); ++i)
    most_rows = std::max(most_rows, found_.candidates[i].rows.size());
  if (most_rows > 0)
    found_.trials = std::min(found_.trials, most_rows);
}

} // namespace caisson::sim
