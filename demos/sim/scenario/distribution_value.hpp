// Distributions as configuration.
#pragma once

#include <sim/scenario/distribution.hpp>

#include <caisson/settings.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// A field that is a distribution: a duration such as "5ms", or a table such as
/// `{ kind = "exponential", mean = "5ms" }`.
class distribution_value final : public field_value {
public:
  explicit distribution_value(distribution& x) : x_(x) {}

  [[nodiscard]] std::string type() const override;
  [[nodiscard]] std::string allowed() const override;
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const std::string& path,
            problems& out) override;
  void check(const std::string& path, problems& out) const override;

private:
  // The fields that belong to the kind of `x`.
  static void describe_parameters(field_visitor& v, distribution& x);
  static std::vector<std::string> parameters_of(distribution::kind k);
  static settings own_parameters(const settings& from, distribution::kind k,
                                 const std::string& path, problems& out);
  void read_table(const settings& from, const std::string& path,
                  const std::string& place, problems& out);

  distribution& x_;
};

} // namespace caisson::sim
