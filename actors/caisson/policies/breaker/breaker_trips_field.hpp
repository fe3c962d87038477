// Trip rules as the field of a config.
#pragma once

#include <caisson/policies/breaker/breaker_trips.hpp>
#include <caisson/settings/field.hpp>

#include <string>

namespace caisson {

template <>
struct field_value_for<breaker_trips> final : field_value {
  explicit field_value_for(breaker_trips& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "choice or list"; }
  [[nodiscard]] std::string allowed() const override;
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  breaker_trips& x_;
};

} // namespace caisson
