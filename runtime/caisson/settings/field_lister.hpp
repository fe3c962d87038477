// The fields of a config struct as rows of texts.
#pragma once

#include <caisson/settings/detail/field_rules.hpp>
#include <caisson/settings/field.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// One row of a settings table: a field and its current value as text.
struct field_row {
  /// The field's name in its table.
  std::string key = {};
  /// The type's name, with the unit in parentheses if there is one.
  std::string type = {};
  /// The possible values, for people.
  std::string allowed = {};
  /// The value as it would be in a file; empty if the field has none.
  std::string value = {};
  /// What the field does, in a few words.
  std::string help = {};
  /// Whether the field must always be given: the value is not a default.
  bool required = false;
  /// Whether the field applies with the current values of the choices before.
  bool applies = true;
};

/// Lists all fields with their current values.
class field_lister final : public field_visitor {
public:
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

  /// One for each field visited so far, in that order.
  std::vector<field_row> rows;

protected:
  bool visits(const field&, bool has_value) override;

private:
  void add(const field& f, std::string_view type, std::string allowed,
           std::string value);

  detail::field_choices choices_;
  // The next field has no value.
  bool absent_ = false;
};

} // namespace caisson
