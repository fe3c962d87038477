// Services, their operations and what these do, as configuration.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings.hpp>

#include <string>

/// A call is the name of an operation, or a table.
template <>
struct caisson::field_value_for<caisson::sim::call_config> final
  : caisson::field_value {
  explicit field_value_for(sim::call_config& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "call"; }
  [[nodiscard]] std::string allowed() const override {
    return "the name of an operation, or a table with to";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  sim::call_config& x_;
};

/// A step is a call, a list of calls made at the same time, or work.
template <>
struct caisson::field_value_for<caisson::sim::step> final
  : caisson::field_value {
  explicit field_value_for(sim::step& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "step"; }
  [[nodiscard]] std::string allowed() const override {
    return "the name of an operation, a table with to or work, or a list of "
           "calls made at the same time";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  sim::step& x_;
};

/// The table of a service is also that of its unnamed operation.
template <>
struct caisson::field_value_for<caisson::sim::service_config> final
  : caisson::field_value {
  explicit field_value_for(sim::service_config& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override { return "a table"; }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;
  void relate(const setting_path& path, problems& out) const override;

private:
  sim::service_config& x_;
};
