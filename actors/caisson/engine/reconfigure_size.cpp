#include <caisson/engine/reconfigure_size.hpp>

#include <fmt/format.h>

namespace caisson::detail {

std::string problem_with_size(const reconfigure& x) {
  if (x.layer.size() > max_name_length)
    return "the layer's name is too long";
  if (x.set.size() > max_settings)
    return fmt::format("{} settings are too many, allowed: 0 to {}",
                       x.set.size(), max_settings);
  for (const auto& [key, value] : x.set)
    if (key.size() > max_name_length || value.size() > max_setting_length)
      return fmt::format("a setting is too long, allowed: {} bytes for its "
                         "name, {} for its value",
                         max_name_length, max_setting_length);
  return {};
}

} // namespace caisson::detail
