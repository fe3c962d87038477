#include <simulator/command/check_command.hpp>

#include <simulator/play/interruption.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/warnings.hpp>
#include <simulator/scenario/zones.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string summary(const scenario& s) {
  // Arms may differ; the largest world gives an idea.
  auto most = [&](auto member) {
    std::size_t n = 0;
    for (const auto& arm : s.arms)
      n = std::max(n, (arm.*member).size());
    return n;
  };
  duration length = duration::zero();
  for (const auto& arm : s.arms)
    length = std::max(length, arm.length);
  return fmt::format(
    "{}, {}, {}, {}, {}", counted(most(&arm_config::services), "service"),
    counted(most(&arm_config::loads), "load"), counted(s.arms.size(), "arm"),
    counted(most(&arm_config::faults), "fault"), short_seconds(length));
}

std::vector<std::string> warnings_of(const arm_config& arm) {
  auto out = recovery_warnings(arm);
  auto more = zone_warnings(arm);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

} // namespace

scenario load_checked(const std::string& file, const command_parts& parts) {
  // Of a pipe, until somebody writes to it.
  std::optional<ends_at_once> now{std::in_place};
  auto out = parts.load(file);
  now.reset();
  // Arms share expectations: each problem once.
  std::map<problem, std::vector<std::string>> arms_with;
  for (const auto& arm : out.arms)
    for (auto& p : expectation_problems(arm))
      arms_with[std::move(p)].push_back(arm.name);
  problems found;
  for (const auto& [p, arms] : arms_with) {
    found.push_back(p);
    auto own = p.key.starts_with(setting_path{} / "arm");
    if (!own && arms.size() < out.arms.size())
      found.back().message += fmt::format(" (in arm {})",
                                          detail::listed_names(arms));
  }
  if (!found.empty())
    throw config_error{std::move(found)};
  return out;
}

status check_command(const std::vector<std::string>& files, std::ostream& out,
                     std::ostream& err, const command_parts& parts) {
  auto result = status::good;
  for (const auto& file : files) {
    try {
      auto world = load_checked(file, parts);
      auto name = detail::printable(file);
      out << name << ": ok: " << summary(world) << '\n';
      for (const auto& arm : world.arms)
        for (const auto& text : warnings_of(arm))
          out << fmt::format("{}: warning: arm {}: {}\n", name,
                             detail::printable(arm.name),
                             detail::printable(text));
    } catch (const config_error& e) {
      err << e.what() << '\n';
      result = status::bad_input;
    }
  }
  return result;
}

} // namespace caisson::sim
