#include <sim/sweep/sweeper.hpp>

#include <algorithm>

namespace caisson::sim {

sweep_report sweeper::play_all(std::size_t jobs) {
  sweep_report r{.plan = plan_, .cells = {}, .failures = {}};
  runner_.expect(plan_.cells());
  r.cells = runner_.run(
    plan_.cells(), [this](std::size_t cell) { return job_of(cell); }, jobs);
  r.interrupted = runner_.stopped()
                  && std::ranges::any_of(r.cells, [](const auto& cell) {
                       return !cell.has_value();
                     });
  r.failures = runner_.failures();
  return r;
}

cell_job sweeper::job_of(std::size_t cell) {
  auto at = plan_.cell_at(cell);
  auto seed = plan_.seed + at.seed;
  auto world = worlds_[at.point * plan_.arms.size() + at.arm];
  return {.key = cell_key(world, plan_.arms[at.arm], seed),
          .label = label_of(at),
          .seed = seed,
          .arm = [this, at] {
            auto all = recent_.get(at.point,
                                   [&] { return plan_.arms_at(at.point); });
            return std::shared_ptr<const arm_config>{all, &(*all)[at.arm]};
          }};
}

std::string sweeper::label_of(const sweep_cell& c) const {
  auto out = plan_.label(c.point);
  return plan_.arms.size() > 1 ? out + " " + plan_.arms[c.arm] : out;
}

} // namespace caisson::sim
