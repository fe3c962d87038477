// Scenarios from text.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <support/problem_texts.hpp>

#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// A world that needs nothing else: a service and its load.
inline constexpr std::string_view smallest_world = R"(length = "60s"
[service.web]
time = "5ms"
[load.users]
target = "web"
rate = 10
)";

/// A text with mistakes, and their kinds and keys.
struct mistake {
  std::string text;
  std::vector<std::string> expected;
};

inline void PrintTo(const mistake& x, std::ostream* out) {
  *out << x.text;
}

/// What is wrong with the scenario `text`, called `f`; empty if it is right.
inline std::string complaint_about(std::string_view text) {
  try {
    (void)sim::parse_scenario(text, "f");
    return {};
  } catch (const config_error& e) {
    return e.what();
  }
}

/// The same, as programs see it: `kind key` of each problem.
inline std::vector<std::string> mistakes_in(std::string_view text) {
  try {
    (void)sim::parse_scenario(text, "f");
    return {};
  } catch (const config_error& e) {
    return kinds_and_keys(e.all());
  }
}

/// The scenario `text`, which must have one arm.
inline sim::arm_config only_arm(std::string_view text) {
  auto s = sim::parse_scenario(text, "f");
  if (s.arms.size() != 1)
    throw std::logic_error{"not one arm"};
  return s.arms.front();
}

/// A service with one request every 100 ms, and a fault of it.
inline std::string
counting_world(const std::string& fault,
               const std::string& service = "time = '1ms'\n") {
  return "length = '3s'\n[service.s]\n" + service
         + "[load.u]\nkind = 'constant'\nrate = 10\ntarget = 's'\n[[fault]]\n"
           "target = 's'\n"
         + fault + "\n";
}

} // namespace caisson::test
