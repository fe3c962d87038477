#include <simulator/sweep/sweep_plan.hpp>

#include <simulator/scenario/sweep_path.hpp>

#include <algorithm>
#include <utility>

namespace caisson::sim {

std::size_t sweep_plan::points() const {
  std::size_t out = 1;
  for (const auto& p : parameters) {
    out *= p.values.size();
    // More are never run, and would overflow.
    if (out > most_sweep_runs)
      return most_sweep_runs + 1;
  }
  return out;
}

sweep_run sweep_plan::run_at(std::size_t i) const {
  auto run = i / arms.size();
  return {run / seeds, run % seeds, i % arms.size()};
}

std::vector<std::size_t> sweep_plan::indexes(std::size_t point) const {
  std::vector<std::size_t> out(parameters.size());
  for (auto i = parameters.size(); i-- > 0;) {
    out[i] = point % parameters[i].values.size();
    point /= parameters[i].values.size();
  }
  return out;
}

const sweep_value& sweep_plan::value(std::size_t point,
                                     std::size_t parameter) const {
  return parameters[parameter].values[indexes(point)[parameter]];
}

std::string sweep_plan::label(std::size_t point) const {
  std::string out;
  auto names = short_names(parameters);
  auto at = indexes(point);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out += (i > 0 ? " " : "") + names[i] + "="
           + parameters[i].values[at[i]].text;
  return out;
}

settings sweep_plan::root_at(std::size_t point) const {
  auto out = root;
  auto at = indexes(point);
  std::vector<chosen_setting> chosen;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    chosen.push_back({parameters[i].path, parameters[i].values[at[i]].value});
  set_all(out, chosen);
  return out;
}

std::vector<arm_config> sweep_plan::arms_at(std::size_t point) const {
  auto world = scenario_from(root_at(point), file, base);
  std::vector<arm_config> out;
  for (const auto& name : arms)
    for (auto& arm : world.arms)
      if (arm.name == name)
        out.push_back(std::move(arm));
  return out;
}

std::vector<std::string>
short_names(const std::vector<sweep_parameter>& parameters) {
  std::vector<std::string> out;
  for (const auto& p : parameters) {
    auto last = [](const sweep_parameter& x) {
      return to_text(x.path.without_first(x.path.parts().size() - 1));
    };
    auto name = last(p);
    auto same = std::ranges::count_if(
      parameters, [&](const auto& x) { return last(x) == name; });
    out.push_back(same > 1 || name.starts_with('[') ? p.name : name);
  }
  return out;
}

} // namespace caisson::sim
