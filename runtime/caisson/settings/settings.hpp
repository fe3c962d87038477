// Configuration as data: everything to describe, read, check and print configs.
#pragma once

#include <caisson/settings/field.hpp>
#include <caisson/settings/field_lister.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/range_checker.hpp>
#include <caisson/settings/section.hpp>
#include <caisson/settings/setting.hpp>
#include <caisson/settings/setting_path.hpp>
#include <caisson/settings/settings_reader.hpp>
#include <caisson/settings/settings_value.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The rows of `config`, with its current values.
template <class Config>
[[nodiscard]] std::vector<field_row> rows_of(Config config) {
  field_lister v;
  describe(v, config);
  return std::move(v.rows);
}

/// All problems of a config struct: every field out of range and every violated
/// relation between fields. Config structs with such relations provide
/// `void check(const Config&, const setting_path& path, problems&)`.
template <class Config>
[[nodiscard]] problems problems_of(Config config,
                                   const setting_path& path = {}) {
  problems out;
  detail::check_fields(config, path, out);
  return out;
}

/// Sets missing places in `found` to that of the value in `from` concerned, or
/// else to that of `from` itself, and their keys to the form written there.
[[nodiscard]] problems with_places(problems found, const section& from);

/// Adds to `out` those of `with_places(more, from)` whose key is not yet in it.
void add_problems(problems more, const section& from, problems& out);

/// Reads as much of `from` as possible into `config`, and appends problems with
/// values and with missing or extra fields. Does not check relations. For
/// readers of more than the config itself; others use `read_settings`.
template <class Config>
void read_fields(const section& from, Config& config, problems& out,
                 absent_fields absent = absent_fields::may_be_missing) {
  settings_reader v{from, out, absent};
  describe(v, config);
  v.finish();
}

/// Appends the violated relations in `config`, with places in `from`.
template <class Config>
void check_relations(const section& from, const Config& config, problems& out) {
  problems found;
  detail::check_relations(config, from.path, found);
  add_problems(std::move(found), from, out);
}

/// Reads `from` over `config` and checks the result. Reports every problem at
/// once. On problems `config` is unchanged.
template <class Config>
[[nodiscard]] problems
read_settings(const section& from, Config& config,
              absent_fields absent = absent_fields::may_be_missing) {
  problems out;
  auto next = config;
  read_fields(from, next, out, absent);
  check_relations(from, next, out);
  if (out.empty())
    config = std::move(next);
  return out;
}

/// Reads a table with the key `path` at `place`.
template <class Config>
[[nodiscard]] problems read_settings(const settings& from,
                                     const setting_path& path, Config& config,
                                     std::string_view place = {}) {
  return read_settings(section{from, path, place}, config);
}

/// Changes single fields of `config` and keeps the others: fields that are
/// required in a whole table need not be given.
template <class Config>
[[nodiscard]] problems change_settings(const settings& from,
                                       const setting_path& path,
                                       Config& config) {
  return read_settings(section{from, path}, config, absent_fields::are_kept);
}

/// Throws `config_error` unless `config` is valid.
template <class Config>
void require_valid(const Config& config, const setting_path& path = {}) {
  if (auto found = problems_of(config, path); !found.empty())
    throw config_error{std::move(found)};
}

} // namespace caisson
