// Fields of config structs, which know their unit, range, purpose and rules.
//
// Each config struct describes its fields once, in a free function
//
//     void describe(field_visitor& v, breaker_config& c);
//
// and everything else follows from it: reading from TOML or from text, the
// check of ranges, the printed configuration and the tables in the docs.
#pragma once

#include <caisson/problem.hpp>
#include <caisson/setting.hpp>
#include <caisson/time.hpp>

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

/// A choice, and the values of it with which another field has an effect.
struct choice_of {
  std::string_view key = {};
  std::initializer_list<std::string_view> values = {};
};

/// What is known of one field besides its value. The rules are about what is
/// given: readers check them, and values set in code are not looked at.
struct field {
  std::string_view key;
  std::string_view help;
  /// For the tables in the docs; empty where the value's type says it.
  std::string_view unit = {};
  /// Which values there are, where the type does not say enough.
  std::string_view allowed = {};
  /// It must be given, in so far as it applies; of a `one_of` group, one field
  /// must be given if any of them is required.
  bool required = false;
  /// It need not be given if this other field is, though it is required.
  std::string_view unless = {};
  /// If it is given, it is not empty; for lists and tables.
  bool nonempty = false;
  /// It has an effect only if at least one of these fields is given, too.
  std::initializer_list<std::string_view> needs = {};
  /// It applies only with these values of a choice (or of a boolean), which
  /// is described in the same table.
  choice_of when = {};
  /// The name of a group of fields of which at most one may be given.
  std::string_view one_of = {};
};

template <class T>
struct range {
  T lo;
  T hi;
};

/// The value of a field whose type is the config's own: for what is neither a
/// number nor a text, such as a count that may be "unlimited".
class field_value {
public:
  virtual ~field_value() = default;

  /// What the type is called in tables.
  [[nodiscard]] virtual std::string type() const = 0;
  /// Which values there are, for tables and messages.
  [[nodiscard]] virtual std::string allowed() const = 0;
  /// The present value, in the form in which it would be written.
  [[nodiscard]] virtual std::string text() const = 0;
  /// Takes the value of `from`. If something is wrong, appends it, with keys
  /// that begin with `path`; the value is then whatever could be read, and
  /// whoever reads the whole config does not take it over.
  virtual void read(const setting& from, const setting_path& path,
                    problems& out)
    = 0;
  /// Appends what is wrong with the present value.
  virtual void check(const setting_path& path, problems& out) const = 0;
  /// Appends what `read` cannot see in a value that it has read: relations
  /// within tables, which are looked at when the whole config has been read.
  virtual void relate(const setting_path&, problems&) const {}
};

/// Makes a type a field: specialise it with a class that derives from
/// `field_value` and is constructed from a `T&`. There is one for schedules,
/// for structs that have a `describe` and for vectors of either.
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

/// What an enumeration is called in configurations, in the order of its values
/// from 0 on. Specialise `enum_names<E>` with a static `std::span`.
template <class E>
struct enum_names;

/// Visits the fields of a config struct. Integer members of any width go
/// through `integer`, enumerations through `choice`.
class field_visitor {
public:
  virtual ~field_visitor() = default;

  virtual void on(const field& f, bool& x) = 0;
  virtual void on(const field& f, std::int64_t& x, range<std::int64_t> r) = 0;
  virtual void on(const field& f, double& x, range<double> r) = 0;
  virtual void on(const field& f, duration& x, range<duration> r) = 0;
  virtual void on(const field& f, std::string& x) = 0;
  virtual void on(const field& f, std::vector<std::string>& x) = 0;
  virtual void on(const field& f, field_value& x) = 0;
  virtual void on(const field& f, std::size_t& x,
                  std::span<const std::string_view> names)
    = 0;

  /// Any type that is made a field by `field_value_for`.
  template <value_of_field T>
  void on(const field& f, T& x) {
    field_value_for<T> value{x};
    on(f, static_cast<field_value&>(value));
  }

  /// A field that may have no value. Tables leave it empty then.
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

  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  void integer(const field& f, T& x, range<T> r) {
    static_assert(sizeof(T) < 8 || std::is_signed_v<T>,
                  "use at most 32 bits unsigned, or a signed type");
    auto wide = static_cast<std::int64_t>(x);
    on(f, wide, range<std::int64_t>{r.lo, r.hi});
    x = static_cast<T>(wide);
  }

  template <class E>
    requires std::is_enum_v<E>
  void choice(const field& f, E& x) {
    auto index = static_cast<std::size_t>(x);
    on(f, index, enum_names<E>::value);
    x = static_cast<E>(index);
  }

protected:
  /// Whether an optional field is to be visited. It has a value then.
  virtual bool visits(const field& f, bool has_value) = 0;
};

} // namespace caisson
