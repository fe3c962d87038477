#include <simulator/explore/shrinker.hpp>

#include <simulator/explore/fault_texts.hpp>
#include <simulator/explore/round_numbers.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

shrinker::result shrinker::shrink(faults found) {
  result_ = {};
  result_.least = std::move(found);
  known_.clear();
  known_.emplace(to_sentence(result_.least), true);
  for (auto changed = true; changed && result_.complete;) {
    changed = fewer();
    for (std::size_t i = 0; i < result_.least.size(); ++i) {
      changed = smaller_place(i) || changed;
      changed = shorter(i) || changed;
      changed = weaker(i) || changed;
      changed = rounder(i) || changed;
    }
  }
  return std::move(result_);
}

bool shrinker::try_all(const faults& candidate) {
  auto name = to_sentence(candidate);
  if (auto found = known_.find(name); found != known_.end())
    return found->second;
  if (!result_.complete || result_.runs >= most_runs_) {
    result_.complete = false;
    return false;
  }
  auto answer = breaks_(candidate);
  if (!answer) {
    result_.complete = false;
    return false;
  }
  ++result_.runs;
  known_.emplace(std::move(name), *answer);
  return *answer;
}

bool shrinker::take_if_breaks(faults candidate) {
  if (!try_all(candidate))
    return false;
  result_.least = std::move(candidate);
  return true;
}

bool shrinker::replace(std::size_t i, const fault_config& with) {
  auto candidate = result_.least;
  candidate[i] = with;
  return take_if_breaks(std::move(candidate));
}

// -- fewer --------------------------------------------------------------------

bool shrinker::fewer() {
  auto before = result_.least.size();
  if (before == 0 || take_if_breaks({}))
    return before > 0;
  for (std::size_t parts = 2; result_.least.size() > 1;) {
    if (remove_part(parts)) {
      parts = std::max<std::size_t>(parts - 1, 2);
      continue;
    }
    if (parts >= result_.least.size())
      break;
    parts = std::min(parts * 2, result_.least.size());
  }
  return result_.least.size() < before;
}

// Removes the first of so many parts without which the rule still breaks.
bool shrinker::remove_part(std::size_t parts) {
  auto all = result_.least;
  for (std::size_t i = 0; i < parts; ++i) {
    auto begin = all.size() * i / parts;
    auto end = all.size() * (i + 1) / parts;
    faults rest{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin)};
    rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end),
                all.end());
    if (rest.size() < all.size() && take_if_breaks(std::move(rest)))
      return true;
  }
  return false;
}

// -- smaller ------------------------------------------------------------------

bool shrinker::smaller_place(std::size_t i) {
  return std::ranges::any_of(
    menu_.smaller_places(result_.least[i]),
    [&](const fault_config& f) { return replace(i, f); });
}

// Takes the least of them that does it, found by bisection; what it is now
// comes after them.
bool shrinker::least_of(std::size_t i, const faults& ascending) {
  auto changed = false;
  std::size_t lo = 0;
  auto hi = ascending.size();
  // The least one is often enough.
  for (auto first = true; lo < hi; first = false) {
    auto middle = first ? lo : lo + (hi - lo) / 2;
    if (replace(i, ascending[middle])) {
      changed = true;
      hi = middle;
    } else {
      lo = middle + 1;
    }
  }
  return changed;
}

bool shrinker::shorter(std::size_t i) {
  auto now = result_.least[i];
  faults all;
  if (now.kind != fault_kind::flush)
    for (auto d : menu_.lengths(now.at))
      if (d < now.lasts)
        all.emplace_back(now).lasts = d;
  return least_of(i, all);
}

bool shrinker::weaker(std::size_t i) {
  const auto& now = result_.least[i];
  faults all;
  for (auto& f : menu_.sizes(now)) {
    if (to_sentence(f) == to_sentence(now))
      return least_of(i, all);
    all.push_back(std::move(f));
  }
  return false;
}

// Multiples of a large unit, rather later than earlier.
bool shrinker::rounder(std::size_t i) {
  auto now = result_.least[i];
  auto unit = round_unit((menu_.to - menu_.from).count());
  for (; unit > menu_.unit.count(); unit = round_unit(unit - 1)) {
    if (now.at.count() % unit == 0)
      return false;
    for (auto at :
         {now.at - now.at % unit + duration{unit}, now.at - now.at % unit}) {
      auto f = now;
      f.at = at;
      if (at >= menu_.from && duration_sum(at, f.lasts) <= menu_.to
          && replace(i, f))
        return true;
    }
  }
  return false;
}

} // namespace caisson::sim
