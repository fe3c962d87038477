#include <simulator/sweep/sweep_json.hpp>

#include <simulator/scenario/sweep_values.hpp>

#include <cmath>
#include <variant>

namespace caisson::sim {

nlohmann::ordered_json number_value(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(x)
                          : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json setting_value(const setting& s) {
  if (auto integer = std::get_if<std::int64_t>(&s.value))
    return *integer;
  if (auto x = std::get_if<double>(&s.value))
    return *x;
  if (auto boolean = std::get_if<bool>(&s.value))
    return *boolean;
  if (auto text = std::get_if<std::string>(&s.value))
    return *text;
  return written_text(s);
}

} // namespace caisson::sim
