// Distributions as configuration.
#pragma once

#include <simulator/scenario/distribution.hpp>

#include <caisson/settings.hpp>

#include <string>

namespace caisson::sim {

/// The table of a distribution: its kind and the parameters of all kinds.
void describe(field_visitor& v, distribution& x);

/// Reports parameters that contradict each other.
void check(const distribution& x, const setting_path& path, problems& out);

} // namespace caisson::sim

/// A distribution is a duration such as "5ms", or a table such as
/// `{ kind = "exponential", mean = "5ms" }`.
template <>
struct caisson::field_value_for<caisson::sim::distribution> final
  : caisson::field_value {
  explicit field_value_for(sim::distribution& x) : x_(x) {}

  [[nodiscard]] std::string type() const override;
  [[nodiscard]] std::string allowed() const override;
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  sim::distribution& x_;
};
