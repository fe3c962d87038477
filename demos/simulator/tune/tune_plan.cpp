#include <simulator/tune/tune_plan.hpp>

#include <simulator/explore/drawn_faults.hpp>
#include <simulator/scenario/sweep_path.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

bool same_value(const sweep_value& a, const sweep_value& b) {
  // Numbers and durations can be written in several ways.
  return std::isnan(a.number) ? a.text == b.text
                              : a.number == b.number && a.unit == b.unit;
}

// The value that is the same; otherwise the nearest one, or any.
std::uint32_t index_near(const std::vector<sweep_value>& values,
                         const std::optional<sweep_value>& x, bool& exact) {
  std::size_t best = values.size() / 2;
  exact = false;
  for (std::size_t i = 0; x && i < values.size(); ++i) {
    if (same_value(values[i], *x)) {
      exact = true;
      return static_cast<std::uint32_t>(i);
    }
    if (std::abs(values[i].number - x->number)
        < std::abs(values[best].number - x->number))
      best = i;
  }
  return static_cast<std::uint32_t>(best);
}

const service_config* service_named(const arm_config& arm,
                                    std::string_view name) {
  auto found = std::ranges::find(arm.services, name, &service_config::name);
  return found == arm.services.end() ? nullptr : &*found;
}

// `db#3` of what has only two replicas is `db#1`, and `db` if it has one.
std::string fitted_name(const std::string& name, const arm_config& arm) {
  auto hash = name.find('#');
  std::uint32_t number = 0;
  if (hash == name.npos
      || detail::read_number(name.substr(hash + 1), number)
           != detail::read_result::good
      || number == 0)
    return name;
  auto base = name.substr(0, hash);
  auto service = service_named(arm, base);
  if (!service || service->replicas == 1)
    return base;
  return fmt::format("{}#{}", base, 1 + (number - 1) % service->replicas);
}

} // namespace

tune_space tune_plan::space() const {
  std::vector<tune_axis> axes;
  for (const auto& p : parameters)
    axes.push_back(axis_of(p.values));
  return tune_space{std::move(axes)};
}

tune_candidate tune_plan::present_candidate() const {
  tune_candidate out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto exact = false;
    out.point.push_back(index_near(parameters[i].values, present[i], exact));
    out.in_space = out.in_space && exact;
  }
  return out;
}

std::vector<const sweep_value*>
tune_plan::values_of(const tune_candidate& c) const {
  std::vector<const sweep_value*> out;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (c.in_space)
      out.push_back(&parameters[i].values[c.point[i]]);
    else
      out.push_back(present[i] ? &*present[i] : nullptr);
  return out;
}

std::string tune_plan::text_of(const sweep_value* value) {
  return value ? value->text : "default";
}

std::string tune_plan::label(const tune_candidate& c) const {
  std::string out;
  auto names = short_names(parameters);
  auto values = values_of(c);
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i > 0 ? " " : "") + names[i] + "=" + text_of(values[i]);
  return out;
}

settings tune_plan::root_of(const tune_candidate& c) const {
  auto out = root;
  if (!c.in_space)
    return out;
  std::vector<chosen_setting> chosen;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    chosen.push_back(
      {parameters[i].path, parameters[i].values[c.point[i]].value});
  check_together(chosen);
  set_all(out, chosen);
  return out;
}

arm_config tune_plan::arm_of(const settings& changed) const {
  auto world = scenario_from(changed, file, base);
  auto found = std::ranges::find(world.arms, arm.name, &arm_config::name);
  return std::move(*found);
}

tune_trial tune_plan::trial(std::size_t i) const {
  // All seeds with their first faults come first, so that few trials are as
  // different as possible.
  auto test = i >= trials();
  auto k = test ? i - trials() : i;
  auto n = test ? unseen : seeds;
  auto number = k % n;
  tune_trial out{.seed = seed + number + (test ? seeds : 0)};
  if (schedules == 0)
    return out;
  auto of = draw_key{out.seed}.with("tune").with(k / n);
  out.faults = drawn_faults(fault_menu{arm, bounds}, of.value());
  return out;
}

fault_config fitted(fault_config f, const arm_config& world) {
  f.target = fitted_name(f.target, world);
  for (auto names : {&f.from, &f.to})
    for (auto& name : *names)
      name = fitted_name(name, world);
  auto service = service_named(world, f.target.substr(0, f.target.find('#')));
  if (f.kind == fault_kind::capacity && service && service->servers != no_limit)
    f.servers = std::min(f.servers, service->servers - 1);
  return f;
}

} // namespace caisson::sim
