#include <simulator/import/call_pattern.hpp>

#include <simulator/import/call_slots.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace caisson::sim {

namespace {

class pattern_finder {
public:
  explicit pattern_finder(const slot_counter& found)
    : found_(found), slots_(found.slots), next_(slots_.size()),
      before_(slots_.size(), 0) {}

  call_pattern find() {
    for (const auto& [slots, pair] : found_.pairs) {
      auto weight = pair.after + pair.together;
      next_[slots.first].emplace_back(slots.second, weight);
      before_[slots.second] += weight;
      all_ += weight;
    }
    order_slots();
    group_slots();
    call_pattern out;
    for (const auto& group : groups_)
      add_step(group, out);
    out.other_order = all_ == 0 ? 0
                                : static_cast<double>(reversed_)
                                    / static_cast<double>(all_);
    if (found_.real_time > 0)
      out.stretch = found_.step_time / found_.real_time;
    return out;
  }

private:
  using slot_list = std::vector<std::uint32_t>;

  // What share of its visits had something before it that is not placed yet;
  // of equals, the one that was seen first.
  [[nodiscard]] std::pair<double, std::uint32_t>
  priority(std::uint32_t slot) const {
    return {static_cast<double>(before_[slot])
              / static_cast<double>(slots_[slot].visits),
            slot};
  }

  // A topological order. Where calls come in different orders, the more
  // frequent one.
  void order_slots() {
    std::set<std::pair<double, std::uint32_t>> open;
    for (std::uint32_t i = 0; i < slots_.size(); ++i)
      open.insert(priority(i));
    std::vector<bool> placed(slots_.size(), false);
    while (!open.empty()) {
      auto slot = open.begin()->second;
      open.erase(open.begin());
      reversed_ += before_[slot];
      placed[slot] = true;
      order_.push_back(slot);
      for (auto [to, weight] : next_[slot]) {
        if (placed[to])
          continue;
        open.erase(priority(to));
        before_[to] -= weight;
        open.insert(priority(to));
      }
    }
  }

  void group_slots() {
    for (auto slot : order_)
      if (groups_.empty() || !is_together(groups_.back(), slot))
        groups_.push_back({slot});
      else
        groups_.back().push_back(slot);
  }

  // By the last ones of a step, as any of them may be missing in a visit.
  [[nodiscard]] bool is_together(const slot_list& group,
                                 std::uint32_t slot) const {
    std::uint64_t together = 0;
    std::uint64_t after = 0;
    auto sample_size = std::min<std::size_t>(group.size(), 8);
    for (auto i = group.size() - sample_size; i < group.size(); ++i)
      for (auto key : {std::pair{group[i], slot}, std::pair{slot, group[i]}})
        if (auto at = found_.pairs.find(key); at != found_.pairs.end()) {
          together += at->second.together;
          after += at->second.after;
        }
    return together > after;
  }

  // -- entries ----------------------------------------------------------------

  [[nodiscard]] double share(const call_slot& s) const {
    return static_cast<double>(s.visits) / static_cast<double>(found_.visits);
  }

  // Whether two shares differ by no more than chance, so that those visits that
  // have the one have the other.
  [[nodiscard]] bool as_often(const call_slot& a, const call_slot& b) const {
    auto p = share(a);
    auto chance = std::sqrt(p * (1 - p) / static_cast<double>(found_.visits));
    return std::abs(p - share(b)) <= std::max(1e-3, chance);
  }

  [[nodiscard]] pattern_call entry_of(const call_slot& s) const {
    pattern_call out{.operation = s.operation, .probability = share(s)};
    // The last slot stands for all further ones.
    out.count = static_cast<std::uint32_t>(std::clamp<double>(
      std::round(static_cast<double>(s.calls) / static_cast<double>(s.visits)),
      1, 10'000));
    out.parallel = out.count > 1 && s.overlaps * 2 > s.calls;
    return out;
  }

  // Whether a slot only adds to the number of calls of the entry before.
  bool add_to(pattern_call& entry, const call_slot& last, const call_slot& s,
              bool same_step) const {
    auto overlapping = s.overlaps * 2 > s.calls;
    if (s.operation != last.operation || s.nth != last.nth + 1
        || !as_often(last, s) || (!same_step && overlapping))
      return false;
    if (entry.count > 1 && overlapping != entry.parallel)
      return false;
    auto more = entry_of(s);
    if (entry.count + more.count > 10'000)
      return false;
    entry.count += more.count;
    entry.parallel = overlapping;
    return true;
  }

  void add_step(slot_list group, call_pattern& out) {
    std::ranges::sort(group, {}, [&](std::uint32_t i) {
      return std::tuple{slots_[i].operation, slots_[i].nth};
    });
    // One call after another of the same kind: one entry for all.
    const auto& first = slots_[group.front()];
    if (group.size() == 1 && last_ && !out.steps.empty()
        && out.steps.back().size() == 1
        && add_to(out.steps.back().front(), *last_, first, false)) {
      last_ = &first;
      return;
    }
    auto& step = out.steps.emplace_back();
    const call_slot* last = nullptr;
    for (auto i : group) {
      const auto& s = slots_[i];
      if (!last || !add_to(step.back(), *last, s, true))
        step.push_back(entry_of(s));
      last = &s;
    }
    last_ = step.size() == 1 && !step.front().parallel ? last : nullptr;
  }

  const slot_counter& found_;
  const std::vector<call_slot>& slots_;
  // Which slots follow each one, and how often.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint64_t>>> next_;
  // How often something that is not placed yet came before it.
  std::vector<std::uint64_t> before_;
  std::uint64_t all_ = 0;
  std::uint64_t reversed_ = 0;
  slot_list order_;
  std::vector<slot_list> groups_;
  // The slot that ended the last step, if that was one call after another.
  const call_slot* last_ = nullptr;
};

} // namespace

call_pattern find_pattern(const visit_graph& g,
                          std::span<const std::uint32_t> visits) {
  slot_counter found{g};
  for (auto v : visits)
    found.add(v);
  return pattern_finder{found}.find();
}

} // namespace caisson::sim
