#include <simulator/play/metric_check.hpp>

#include <simulator/report/expectations.hpp>

#include <utility>

namespace caisson::sim {

void metric_check::check_arm(const arm_config& arm) {
  std::erase_if(missing_, [&](const auto& name) { return has(arm, name); });
}

problems metric_check::found() const {
  problems out;
  for (const auto& name : missing_)
    if (auto p = first_.find(name); p != first_.end())
      out.push_back(p->second);
  return out;
}

bool metric_check::has(arm_config arm, const std::string& name) {
  arm.expect = {};
  arm.expect.bounds.push_back(
    {.metric = name, .key = setting_path{} / option_});
  auto wrong = expectation_problems(arm);
  if (!wrong.empty())
    first_.try_emplace(name, std::move(wrong.front()));
  return wrong.empty();
}

} // namespace caisson::sim
