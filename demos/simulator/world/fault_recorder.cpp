#include <simulator/world/fault_recorder.hpp>

#include <algorithm>

namespace caisson::sim {

counted_times& fault_recorder::of(std::size_t fault) {
  if (fault >= all_.size()) {
    all_.resize(fault + 1);
    lasting_.resize(fault + 1);
  }
  return all_[fault];
}

bool fault_recorder::lasts(std::size_t fault) const {
  return fault < lasting_.size() && lasting_[fault] > 0;
}

bool fault_recorder::may_begin(std::size_t fault) const {
  return fault >= all_.size()
         || all_[fault].begun < static_cast<std::uint64_t>(most_failures);
}

void fault_recorder::refused(std::size_t fault) {
  of(fault).cut_off = true;
}

std::uint64_t fault_recorder::begun(std::size_t fault, std::uint32_t replica,
                                    duration now) {
  auto& x = of(fault);
  ++lasting_[fault];
  if (x.times.size() < most_fault_times)
    x.times.push_back({now, unlimited, replica});
  return x.begun++;
}

void fault_recorder::ended(std::size_t fault, std::uint64_t number,
                           duration now) {
  auto& times = of(fault).times;
  --lasting_[fault];
  if (number < times.size())
    times[number].lasts = now - times[number].at;
}

std::vector<counted_times> fault_recorder::times(duration end) const {
  auto out = all_;
  for (auto& x : out)
    for (auto& t : x.times)
      t.lasts = std::min(t.lasts, end - t.at);
  return out;
}

} // namespace caisson::sim
