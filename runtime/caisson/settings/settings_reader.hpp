// Reads settings into config structs.
#pragma once

#include <caisson/settings/detail/field_rules.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/section.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// What a missing field means.
enum class absent_fields : std::uint8_t {
  /// The field keeps its default, or is a problem if required.
  may_be_missing,
  /// The field keeps its value: the table changes single fields.
  are_kept,
};

/// Reads the fields present in a table into a config struct. Absent fields, and
/// those with an invalid value, keep their value. `finish` reports unknown keys
/// and violated rules.
///
/// For one table, by one thread; refers to the table and to `out`.
class settings_reader final : public field_visitor {
public:
  /// Appends problems to `out`, with keys that begin with the path of `from`.
  /// `absent` says what becomes of fields that are not in the table.
  explicit settings_reader(
    section from, problems& out,
    absent_fields absent = absent_fields::may_be_missing);

  using field_visitor::on;
  void on(const field& f, bool& x) override;
  void on(const field& f, std::int64_t& x, range<std::int64_t> r) override;
  void on(const field& f, double& x, range<double> r) override;
  void on(const field& f, duration& x, range<duration> r) override;
  void on(const field& f, std::string& x) override;
  void on(const field& f, std::vector<std::string>& x) override;
  void on(const field& f, field_value& x) override;
  void on(const field& f, std::size_t& x,
          std::span<const std::string_view> names) override;

  /// The value of `key`, if present; the key then counts as known. For keys
  /// outside the config.
  const setting* take(std::string_view key);

  /// The value of a field that the caller reads itself, if present. The rules
  /// of the field apply.
  const setting* take(const field& f);

  /// Calls `read` with each table in the list of tables under `f`. Anything
  /// else there is a problem.
  void tables(const field& f, const std::function<void(const section&)>& read);

  /// Calls `read` with the name and the content of each table in the table
  /// under `f`, in the order of the file. Anything else there is a problem.
  void named_tables(
    const field& f,
    const std::function<void(const std::string&, const section&)>& read);

  /// Reports every unknown key, with the names of the known ones, and then
  /// every violated rule.
  void finish();

  /// Absent known keys that unknown ones were probably meant to be; valid after
  /// `finish`.
  [[nodiscard]] const std::vector<std::string>& misspelled() const noexcept {
    return misspelled_;
  }

protected:
  bool visits(const field& f, bool has_value) override;

private:
  const setting* take(const field& f, std::string_view allowed);
  void wrong(problem_kind kind, const field& f, const setting& s,
             std::string message);
  std::string unknown_key(std::string_view key, const setting& value);

  section from_;
  problems& out_;
  absent_fields absent_;
  std::vector<std::string> taken_;
  // Those that apply.
  std::vector<std::string> usable_;
  std::vector<std::string> misspelled_;
  detail::field_rules rules_;
};

} // namespace caisson
