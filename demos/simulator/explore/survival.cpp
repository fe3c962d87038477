#include <simulator/explore/survival.hpp>

#include <simulator/play/ordered_work.hpp>
#include <simulator/scenario/faults.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

survival_prober::survival_prober(const explore_plan& plan, progress_bar& bar,
                                 const command_parts& parts)
  : plan_(plan), bar_(bar), parts_(parts), arms_(plan.arms) {
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    arms_[i].faults.clear();
    arms_[i].recovery_from.reset();
    menus_.emplace_back(arms_[i], plan.bounds);
    add_questions(i);
  }
}

// Places in the order of the file, kinds in that of the format.
void survival_prober::add_questions(std::size_t arm) {
  const auto& menu = menus_[arm];
  auto add = [&](fault_config f) {
    f.at = menu.from;
    if (auto sizes = menu.sizes(f); !sizes.empty())
      f = sizes.back();
    questions_.push_back({.arm = arm, .fault = std::move(f)});
  };
  auto each_kind = [&](bool of_messages, const fault_config& at) {
    for (auto kind : menu.kinds)
      if (hits_messages(kind) == of_messages && kind != fault_kind::flush) {
        auto f = at;
        f.kind = kind;
        add(std::move(f));
      }
  };
  for (const auto& s : menu.services)
    // The replicas in a zone have places of their own.
    for (std::size_t i = 0;
         i < std::min<std::size_t>(s.names.size(), s.is_zone ? 1 : 2); ++i) {
      fault_config f;
      f.target = s.names[i];
      each_kind(false, f);
    }
  for (const auto& m : menu.messages) {
    fault_config f;
    f.from = {m.callers.front()};
    f.to = m.all_services();
    each_kind(true, f);
  }
}

survival_map survival_prober::probe_all(std::size_t jobs) {
  survival_map out;
  for (std::size_t i = 0; i < arms_.size(); ++i)
    out.well.push_back(survives(i, nullptr).value_or(false));
  out.all = questions_;
  ordered_work<survival> work{questions_.size(), jobs};
  if (!stopped())
    work.run(
      [&](std::size_t i) {
        auto s = questions_[i];
        return out.well[s.arm] ? probe(std::move(s)) : s;
      },
      [&](std::size_t i, survival s) {
        out.all[i] = std::move(s);
        return !stopped();
      });
  bar_.clear();
  out.interrupted = stopped();
  return out;
}

survival survival_prober::probe(survival s) {
  // It could be survived by the length at `lo`, but not by that at `hi`; 0 is
  // no fault at all.
  auto lengths = menus_[s.arm].lengths(s.fault.at);
  lengths.insert(lengths.begin(), duration::zero());
  std::size_t lo = 0;
  auto hi = lengths.size();
  for (auto first = true; lo + 1 < hi; first = false) {
    auto middle = first ? hi - 1 : lo + (hi - lo) / 2;
    auto f = s.fault;
    f.lasts = lengths[middle];
    auto answer = survives(s.arm, &f);
    if (!answer)
      return s;
    (*answer ? lo : hi) = middle;
  }
  s.fault.lasts = lengths[lo];
  s.longest = hi == lengths.size();
  if (!s.longest)
    s.fatal = lengths[hi];
  s.known = true;
  std::lock_guard guard{mutex_};
  ++done_;
  auto share = static_cast<double>(done_)
               / static_cast<double>(questions_.size());
  bar_.show({place_of(s.fault), done_ - 1, questions_.size(), plan_.seed},
            share);
  return s;
}

std::optional<bool> survival_prober::survives(std::size_t arm,
                                              const fault_config* fault) {
  auto world = arms_[arm];
  if (fault)
    world.faults.push_back(*fault);
  run_options o{.seed = plan_.seed,
                .progress = {},
                .stop = parts_.stop,
                .abandon = parts_.catch_signals,
                .step = one_row,
                .log = {}};
  auto r = parts_.play(world, o);
  if (r.interrupted)
    return std::nullopt;
  return r.verdict == verdict_kind::recovered
         || r.verdict == verdict_kind::no_fault;
}

} // namespace caisson::sim
