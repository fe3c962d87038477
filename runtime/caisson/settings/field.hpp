// Fields of config structs, with unit, range, purpose and rules.
//
// Each config struct describes its fields once, in a free function
//
//     void describe(field_visitor& v, breaker_config& c);
//
// and everything else is derived from it: reading from TOML or text, range
// checks, the printed configuration and the tables in the docs.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace caisson {

/// A choice, and its values with which another field has an effect.
struct choice_of {
  /// The key of the choice; empty: there is none, the field always applies.
  std::string_view key = {};
  /// The names of the values, as in `enum_names`; `true` or `false` of a
  /// boolean.
  std::initializer_list<std::string_view> values = {};
};

/// What is known about one field in addition to its value. The rules concern
/// which fields are given: readers check them, but not for values set in code.
struct field {
  /// The name in the table. The texts are literals: a field does not own them.
  std::string_view key;
  /// What the field does, in a few words, for the tables in the docs.
  std::string_view help;
  /// The unit in the tables in the docs; empty if the value's type is enough.
  std::string_view unit = {};
  /// The possible values, if the type is not enough.
  std::string_view allowed = {};
  /// It must be given if it applies. Of a `one_of` group, one field must be
  /// given if any of them is required.
  bool required = false;
  /// It is not required if this other field is given.
  std::string_view unless = {};
  /// If it is given, it is not empty; for texts, lists and tables.
  bool nonempty = false;
  /// It has an effect only if at least one of these fields is also given.
  std::initializer_list<std::string_view> needs = {};
  /// It applies only with these values of a choice (or boolean) in the same
  /// table.
  choice_of when = {};
  /// The name of a group of fields of which at most one may be given.
  std::string_view one_of = {};
};

/// The values from `lo` to `hi`, both included.
template <class T>
struct range {
  /// The least value.
  T lo;
  /// The greatest value; `unlimited` where durations have no limit.
  T hi;
};

/// The value of a field with a custom type, such as a count that may be
/// "unlimited".
class field_value {
public:
  virtual ~field_value() = default;

  /// The type's name in tables.
  [[nodiscard]] virtual std::string type() const = 0;
  /// The possible values, for tables and messages.
  [[nodiscard]] virtual std::string allowed() const = 0;
  /// The current value, as it would be written.
  [[nodiscard]] virtual std::string text() const = 0;
  /// Reads the value from `from`. Appends problems, with keys that begin with
  /// `path`. The value is then whatever could be read, and the reader of the
  /// whole config discards it.
  virtual void read(const setting& from, const setting_path& path,
                    problems& out)
    = 0;
  /// Appends the problems of the current value.
  virtual void check(const setting_path& path, problems& out) const = 0;
  /// Appends problems that `read` cannot see: relations within tables, which
  /// are checked when the whole config has been read.
  virtual void relate(const setting_path&, problems&) const {}
};

/// Makes a type a field: specialise it with a class that derives from
/// `field_value` and is constructed from a `T&`. Specialisations exist for
/// schedules, for structs with a `describe` and for vectors of either.
template <class T>
struct field_value_for;

template <class T>
concept value_of_field = requires(T& x) {
  {
    field_value_for<T> {
      x
    }
    } -> std::derived_from<field_value>;
};

/// The names of an enumeration's values in configurations, in order from 0 on.
/// Specialise `enum_names<E>` with a static `std::span`.
template <class E>
struct enum_names;

/// Visits the fields of a config struct. Integer members of any width go
/// through `integer`, enumerations through `choice`.
class field_visitor {
public:
  virtual ~field_visitor() = default;

  /// True or false.
  virtual void on(const field& f, bool& x) = 0;
  /// An integer in `r`, at most 64 bits with a sign.
  virtual void on(const field& f, std::int64_t& x, range<std::int64_t> r) = 0;
  /// A finite number in `r`.
  virtual void on(const field& f, double& x, range<double> r) = 0;
  /// A duration in `r`, in files with a unit such as `5ms`.
  virtual void on(const field& f, duration& x, range<duration> r) = 0;
  /// Any text.
  virtual void on(const field& f, std::string& x) = 0;
  /// A list of any texts.
  virtual void on(const field& f, std::vector<std::string>& x) = 0;
  /// A value of a custom type; `x` refers to it.
  virtual void on(const field& f, field_value& x) = 0;
  /// The number of a choice: an index into `names`.
  virtual void on(const field& f, std::size_t& x,
                  std::span<const std::string_view> names)
    = 0;

  /// Any type with a `field_value_for`.
  template <value_of_field T>
  void on(const field& f, T& x) {
    field_value_for<T> value{x};
    on(f, static_cast<field_value&>(value));
  }

  /// A field that may have no value. Tables then leave it empty.
  template <class T, class... Ts>
  void on(const field& f, std::optional<T>& x, const Ts&... xs) {
    if (!visits(f, x.has_value()))
      return;
    auto value = x.value_or(T{});
    if constexpr (std::is_enum_v<T>)
      choice(f, value);
    else
      on(f, value, xs...);
    x = std::move(value);
  }

  /// An integer of any width, unsigned ones of at most 32 bits: visited as one
  /// of 64 bits.
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  void integer(const field& f, T& x, range<T> r) {
    static_assert(sizeof(T) < 8 || std::is_signed_v<T>,
                  "use at most 32 bits unsigned, or a signed type");
    auto wide = static_cast<std::int64_t>(x);
    on(f, wide, range<std::int64_t>{r.lo, r.hi});
    x = static_cast<T>(wide);
  }

  /// An enumeration: goes by the place of its value in `enum_names<E>`.
  template <class E>
    requires std::is_enum_v<E>
  void choice(const field& f, E& x) {
    auto index = static_cast<std::size_t>(x);
    on(f, index, enum_names<E>::value);
    x = static_cast<E>(index);
  }

protected:
  /// Whether to visit an optional field. It has a value then.
  virtual bool visits(const field& f, bool has_value) = 0;
};

} // namespace caisson
