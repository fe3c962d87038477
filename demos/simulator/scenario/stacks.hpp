// The stacks of a scenario as configuration.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings.hpp>

#include <string>

namespace caisson::sim {

/// A field with stacks and their layers, as in a file of stacks.
class stacks_value final : public field_value {
public:
  explicit stacks_value(stack_map& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override {
    return "a table of stacks";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path&, problems&) const override {}

private:
  stack_map& x_;
};

} // namespace caisson::sim
