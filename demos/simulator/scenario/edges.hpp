// Finds the edge between a caller and an operation, and reads its names.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// A field with names of one sort: one name, a list of names, or, unless
/// `with_all` is false, "*".
class names_value final : public field_value {
public:
  explicit names_value(std::vector<std::string>& x, bool with_all = true)
    : x_(x), with_all_(with_all) {}

  [[nodiscard]] std::string type() const override { return "names"; }
  [[nodiscard]] std::string allowed() const override {
    return with_all_ ? "a name, a list of names, or \"*\" for all"
                     : "a name or a list of names";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path&, problems&) const override {}

private:
  std::vector<std::string>& x_;
  bool with_all_;
};

/// Whether the rule holds for calls of `from` to an operation.
[[nodiscard]] bool matches(const edge_rule& rule, std::string_view from,
                           std::string_view to);

/// The key with which the rule says how connections are used, but not how many
/// there are; empty if there is none.
[[nodiscard]] std::string_view connection_key(const edge_rule& rule);

/// The edge from a caller to an operation (`service.operation` or `service`):
/// every rule that matches, a later one over an earlier one.
[[nodiscard]] edge_config
edge_between(const arm_config& arm, std::string_view from, std::string_view to);

/// Whether a caller uses the same gates for both, if they lead to the same
/// service.
[[nodiscard]] bool share_a_route(const edge_config& a, const edge_config& b);

} // namespace caisson::sim
