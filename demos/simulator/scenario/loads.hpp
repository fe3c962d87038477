// Loads as configuration: what is asked for, how often, and by whom.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings.hpp>

#include <string>
#include <utility>
#include <vector>

/// A point of a profile is a list of a duration and a rate.
template <>
struct caisson::field_value_for<caisson::sim::rate_point> final
  : caisson::field_value {
  explicit field_value_for(sim::rate_point& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "point"; }
  [[nodiscard]] std::string allowed() const override {
    return "a list of a duration and a rate, such as [\"60s\", 100]";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  sim::rate_point& x_;
};

namespace caisson::sim {

/// A field with operations and their weights.
class mix_value final : public field_value {
public:
  using mix = std::vector<std::pair<std::string, double>>;

  explicit mix_value(mix& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override {
    return "a table of operations and their weights, such as \"web.home\" = 1";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  mix& x_;
};

} // namespace caisson::sim
