#include <simulator/tune/tune_ranking.hpp>

#include <simulator/tune/tune_fronts.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace caisson::sim {

namespace {

std::vector<tune_trade> trades_of(const std::vector<tune_contender>& all,
                                  std::size_t trials,
                                  const std::vector<tune_target>& traded) {
  std::vector<tune_trade> out;
  out.reserve(all.size());
  for (const auto& c : all)
    out.push_back({estimate_of(*c.rows, trials, traded[0]),
                   estimate_of(*c.rows, trials, traded[1])});
  return out;
}

// A place of a contender among others; less is better.
struct place {
  std::size_t tier = 0;
  double shortfall = 0;
  std::size_t front = 0;
  double no_room = 0;
  tune_estimate objective = {};
  std::size_t id = 0;

  friend auto operator<=>(const place&, const place&) = default;
};

std::vector<std::size_t> ids_of(std::vector<place> places) {
  std::ranges::sort(places, [](const auto& a, const auto& b) { return a < b; });
  std::vector<std::size_t> out;
  out.reserve(places.size());
  for (const auto& p : places)
    out.push_back(p.id);
  return out;
}

// By the front of two numbers, with the others of their tier.
void add_fronts(std::vector<place>& places,
                const std::vector<tune_contender>& all, std::size_t trials,
                const std::vector<tune_target>& traded) {
  for (std::size_t tier = 0; tier < 3; ++tier) {
    std::vector<std::size_t> which;
    std::vector<tune_contender> some;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i].tier == tier) {
        which.push_back(i);
        some.push_back(all[i]);
      }
    auto trades = trades_of(some, trials, traded);
    auto fronts = fronts_of(trades);
    auto room = room_on_fronts(trades, fronts);
    for (std::size_t k = 0; k < which.size(); ++k) {
      places[which[k]].front = fronts[k];
      places[which[k]].no_room = -room[k];
    }
  }
}

std::vector<std::size_t> by_front(const std::vector<tune_contender>& all,
                                  std::size_t trials,
                                  const std::vector<tune_target>& traded) {
  std::vector<place> places;
  places.reserve(all.size());
  for (const auto& c : all)
    places.push_back({.id = c.id});
  add_fronts(places, all, trials, traded);
  return ids_of(std::move(places));
}

} // namespace

std::vector<std::size_t> best_first(const std::vector<tune_contender>& all,
                                    std::size_t trials,
                                    const tune_targets& targets) {
  std::vector<place> places;
  for (const auto& c : all) {
    auto missed = shortfall(*c.rows, trials, targets);
    places.push_back(
      {.tier = missed > 0             ? 2u
               : c.sure < sure_enough ? 1u
                                      : 0u,
       .shortfall = missed,
       .objective = estimate_of(*c.rows, trials, targets.objectives.at(0)),
       .id = c.id});
  }
  if (targets.objectives.size() == 2)
    add_fronts(places, all, trials, targets.objectives);
  return ids_of(std::move(places));
}

std::vector<std::size_t> front_of(const std::vector<tune_contender>& all,
                                  std::size_t trials,
                                  const std::vector<tune_target>& traded) {
  if (traded.empty())
    return {};
  auto trades = trades_of(all, trials, traded);
  auto fronts = fronts_of(trades);
  std::vector<std::pair<tune_trade, std::size_t>> line;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (fronts[i] == 0)
      line.emplace_back(trades[i], all[i].id);
  std::ranges::sort(line, [](const auto& a, const auto& b) { return a < b; });
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (i == 0 || line[i].first != line[i - 1].first)
      out.push_back(line[i].second);
  return out;
}

std::vector<std::size_t> best_with_front(const std::vector<tune_contender>& all,
                                         std::size_t trials,
                                         const tune_targets& targets) {
  auto best = best_first(all, trials, targets);
  auto traded = targets.trade_off();
  if (traded.empty() || targets.objectives.size() == 2)
    return best;
  auto front = by_front(all, trials, traded);
  std::vector<std::size_t> out;
  std::set<std::size_t> taken;
  auto take = [&](const std::vector<std::size_t>& from, std::size_t& next) {
    while (next < from.size() && !taken.insert(from[next]).second)
      ++next;
    if (next < from.size())
      out.push_back(from[next++]);
  };
  std::size_t next_best = 0;
  std::size_t next_front = 0;
  while (out.size() < all.size())
    if (out.size() % 3 == 2)
      take(front, next_front);
    else
      take(best, next_best);
  return out;
}

std::size_t knee_of(const std::vector<tune_contender>& front,
                    std::size_t trials,
                    const std::vector<tune_target>& traded) {
  auto trades = trades_of(front, trials, traded);
  // What has no number is not near to anything.
  auto finite = [](const tune_trade& t) {
    return t.first.missing == 0 && t.second.missing == 0;
  };
  auto [left, right] = std::ranges::minmax(
    trades, {}, [](const auto& t) { return t.first.mean; });
  auto [low, high] = std::ranges::minmax(
    trades, {}, [](const auto& t) { return t.second.mean; });
  auto share = [](double x, double from, double to) {
    return to > from ? (x - from) / (to - from) : 0;
  };
  auto best = front.front().id;
  auto least = 3.0;
  for (std::size_t i = 0; i < trades.size(); ++i) {
    if (!finite(trades[i]))
      continue;
    auto x = share(trades[i].first.mean, left.first.mean, right.first.mean);
    auto y = share(trades[i].second.mean, low.second.mean, high.second.mean);
    if (x * x + y * y < least) {
      least = x * x + y * y;
      best = front[i].id;
    }
  }
  return best;
}

} // namespace caisson::sim
