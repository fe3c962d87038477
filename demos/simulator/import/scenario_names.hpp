// Names of services and operations as a scenario may have them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace caisson::sim {

/// How long such a name gets at most, without a number behind it.
inline constexpr std::size_t longest_scenario_name = 60;

/// Letters, digits, `_` and `-` of a text, with one `-` in place of anything
/// else between them; `unnamed` if nothing is left.
[[nodiscard]] std::string scenario_name(std::string_view text);

/// Gives out names, each once.
class scenario_names {
public:
  /// `scenario_name(text)`, with `-2`, `-3` and so on if that is taken.
  std::string take(std::string_view text);

private:
  std::set<std::string, std::less<>> taken_;
  // The last number behind a name, so that many of a kind take no longer.
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

} // namespace caisson::sim
