// Schedules in configurations. Include this where a config struct describes a
// schedule: `v.on({"backoff", "how long to wait"}, c.backoff)`.
#pragma once

#include <caisson/policy/schedule.hpp>
#include <caisson/settings/settings.hpp>

#include <string>

namespace caisson {

/// The fields of one segment, with their names in TOML.
void describe(field_visitor& v, schedule::segment& s);

/// The relations between a segment's fields.
void check(const schedule::segment& s, const setting_path& path, problems& out);

/// Reads a schedule: a duration (constant), `none` (no delays), a list of
/// durations (each once), a table (one segment) or a list of tables (segments
/// in order). A table without `kind` changes single fields of `into`, if that
/// has exactly one segment. On problems `into` is unchanged.
void read_schedule(const setting& from, const setting_path& path,
                   schedule& into, problems& out);

/// All problems of the segments of `s`.
void check_schedule(const schedule& s, const setting_path& path, problems& out);

template <>
struct field_value_for<schedule> final : field_value {
  explicit field_value_for(schedule& x) : x_(x) {}

  [[nodiscard]] std::string type() const override;
  [[nodiscard]] std::string allowed() const override;
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  schedule& x_;
};

} // namespace caisson
