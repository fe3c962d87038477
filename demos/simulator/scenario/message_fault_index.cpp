#include <simulator/scenario/message_fault_index.hpp>

#include <simulator/scenario/replicas.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

message_fault_index::message_fault_index(const arm_config& arm) {
  group_map groups{arm};
  for (const auto& f : arm.faults) {
    if (!hits_messages(f.kind))
      continue;
    auto number = all_.size();
    auto& x = all_.emplace_back(
      entry{&f, group_members{f.from, groups}, group_members{f.to, groups}});
    if (x.from.all() && x.to.all()) {
      of_two_.push_back(number);
      continue;
    }
    auto& index = x.from.all() || x.to.all() ? of_one_ : of_none_;
    for (const auto* side : {&x.from, &x.to})
      for (auto name : side->names())
        if (name != "*")
          index[replica_target_in(name).service].push_back(number);
  }
}

void message_fault_index::find(const by_name& from, const names& all,
                               numbers& out) {
  for (auto name : all)
    if (auto i = from.find(name); i != from.end())
      out.insert(out.end(), i->second.begin(), i->second.end());
}

std::size_t message_fault_index::count(const by_name& in, const names& all) {
  std::size_t n = 0;
  for (auto name : all)
    if (auto i = in.find(name); i != in.end())
      n += i->second.size();
  return n;
}

std::vector<const message_fault_index::entry*>
message_fault_index::between(const names& a, const names& b) const {
  auto found = of_two_;
  find(of_one_, a, found);
  find(of_one_, b, found);
  // Both sides have to be here, so the shorter list has them all.
  const auto& fewer = count(of_none_, a) < count(of_none_, b) ? a : b;
  find(of_none_, fewer, found);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<const entry*> out;
  for (auto i : found)
    out.push_back(&all_[i]);
  return out;
}

} // namespace caisson::sim
