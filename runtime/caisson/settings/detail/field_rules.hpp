// Rules for fields that are required, or that exclude each other.
#pragma once

#include <caisson/settings/field.hpp>
#include <caisson/settings/section.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// The values of the choices in one table.
class field_choices {
public:
  /// The choice `key` has the value `name`.
  void set(std::string_view key, std::string_view name) {
    values_.insert_or_assign(std::string{key}, std::string{name});
  }

  /// The value of a choice; nothing if it is not known.
  [[nodiscard]] std::optional<std::string_view>
  value_of(std::string_view key) const;

  /// Whether the field applies; nothing if the choice that it belongs to has
  /// no value, as it is missing or wrong.
  [[nodiscard]] std::optional<bool> applies(const field& f) const;

private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// What a field demands of the table that it is in; as in `field`.
struct field_rule {
  std::string key;
  std::string allowed;
  bool required = false;
  std::string unless;
  std::vector<std::string> needs;
  std::string when;
  std::vector<std::string> values;
  std::string one_of;
};

/// The rules of the fields that were read from one table.
class field_rules {
public:
  field_choices choices;

  /// Takes the rules of `f` over. `allowed` is what to say if it is missing.
  void add(const field& f, std::string_view allowed);

  /// Whether the field `key` may be given with the present choices, as far as
  /// they are known.
  [[nodiscard]] bool may_apply(std::string_view key) const;

  /// Appends every rule that is broken, in the order of the fields. A field in
  /// `misspelled` is there under another name, and not missing. If `whole` is
  /// false, the table changes single fields of what there is, and nothing is
  /// missing in it.
  void check(const section& at, const std::vector<std::string>& misspelled,
             bool whole, problems& out) const;

private:
  std::vector<field_rule> rules_;
};

} // namespace caisson::detail
