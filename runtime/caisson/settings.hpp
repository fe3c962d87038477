// Configuration as data: a tree of values with places, and fields that know
// their unit, range and purpose.
//
// Each config struct describes its fields once, in a free function
//
//     void describe(field_visitor& v, breaker_config& c);
//
// and everything else follows from it: reading from TOML or from text, the
// check of ranges, the printed configuration and the tables in the docs.
#pragma once

#include <caisson/time.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace caisson {

class schedule;

// -- limits -------------------------------------------------------------------

/// How deep a value may lie. Parts of dotted keys, tables and items of lists
/// count together: `a.b = [{ c = 1 }]` has four levels. What is deeper is
/// refused before it is taken apart.
inline constexpr std::size_t most_levels = 64;

/// How long a key may be as it is written, in bytes, all its parts included.
inline constexpr std::size_t longest_key = 500;

/// How many problems are told one by one; later ones are only counted.
inline constexpr std::size_t most_listed_problems = 100;

// -- problems -----------------------------------------------------------------

/// One thing that is wrong with a configuration.
struct problem {
  /// Where: `file:line:column`, or empty if it did not come from a file.
  std::string place;
  /// Which setting: a dotted path such as `stack.db.breaker.open.base`.
  std::string key;
  /// What is wrong, with the value found and the values allowed.
  std::string message;

  friend auto operator<=>(const problem&, const problem&) = default;
};

/// All that was found wrong, in the order found.
using problems = std::vector<problem>;

/// `file:3:7: stack.db.breaker.threshold: 0 is out of range, allowed: 1 to 9`.
/// Place and key are left out where they are empty. Fit for a terminal: always
/// one line, control characters are escaped, and what is very long is cut.
[[nodiscard]] std::string to_text(const problem& p);

/// One line per problem, without a line break at the end. If there are more
/// than `most_listed_problems`, a last line says how many there are in all.
[[nodiscard]] std::string to_text(const problems& ps);

/// Thrown where a bad configuration is handed to a constructor or a `spawn_…`
/// function. `what()` is `to_text(all())`.
class config_error : public std::invalid_argument {
public:
  explicit config_error(problems found);
  [[nodiscard]] const problems& all() const noexcept { return problems_; }

private:
  problems problems_;
};

// -- values -------------------------------------------------------------------

struct setting;

/// A table keeps the order of keys by name; `place` belongs to each value.
using settings = std::map<std::string, setting, std::less<>>;

/// A value as found in a TOML file or in a `reconfigure` message.
struct setting {
  /// Text that a `reconfigure` message or a command line gave: its type is
  /// decided by the field that it is meant for.
  struct raw {
    std::string text;
  };

  std::variant<raw, bool, std::int64_t, double, std::string,
               std::vector<setting>, settings>
    value;
  std::string place;
};

// -- fields -------------------------------------------------------------------

/// What is known of one field besides its value.
struct field {
  std::string_view key;
  std::string_view help;
  /// For the tables in the docs; empty where the value's type says it.
  std::string_view unit = {};
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
  /// Takes the value of `from`. If that is none, appends what is wrong, with
  /// keys that begin with `path`, and stays as it was.
  virtual void read(const setting& from, const std::string& path, problems& out)
    = 0;
  /// Appends what is wrong with the present value.
  virtual void check(const std::string& path, problems& out) const = 0;
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
  virtual void on(const field& f, schedule& x) = 0;
  virtual void on(const field& f, field_value& x) = 0;
  virtual void on(const field& f, std::size_t& x,
                  std::span<const std::string_view> names)
    = 0;

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
};

// -- what follows from a description ------------------------------------------

/// Reads the fields present in a table into a config struct. Fields that are
/// absent keep their value. `finish` reports keys that no field asked for.
class settings_reader final : public field_visitor {
public:
  /// `path` prefixes the keys in problems. Keys in `from` that belong to
  /// somebody else are made known with `take`.
  settings_reader(const settings& from, std::string path, problems& out);

  void on(const field& f, bool& x) override;
  void on(const field& f, std::int64_t& x, range<std::int64_t> r) override;
  void on(const field& f, double& x, range<double> r) override;
  void on(const field& f, duration& x, range<duration> r) override;
  void on(const field& f, std::string& x) override;
  void on(const field& f, std::vector<std::string>& x) override;
  void on(const field& f, schedule& x) override;
  void on(const field& f, field_value& x) override;
  void on(const field& f, std::size_t& x,
          std::span<const std::string_view> names) override;

  /// The value of `key`, if present; it counts as known from here on.
  const setting* take(std::string_view key);

  /// Reports every key that nobody took, naming the ones that exist.
  void finish();

private:
  void wrong(const field& f, const setting& s, std::string_view what);
  void read_strings(const field& f, const std::vector<setting>& from,
                    std::vector<std::string>& into);
  [[nodiscard]] std::string unknown_key(std::string_view key,
                                        const setting& value) const;

  const settings& from_;
  std::string path_;
  problems& out_;
  std::vector<std::string> taken_;
};

/// Checks ranges of values set in code.
class range_checker final : public field_visitor {
public:
  range_checker(std::string path, problems& out)
    : path_(std::move(path)), out_(out) {}

  void on(const field&, bool&) override {}
  void on(const field& f, std::int64_t& x, range<std::int64_t> r) override;
  void on(const field& f, double& x, range<double> r) override;
  void on(const field& f, duration& x, range<duration> r) override;
  void on(const field&, std::string&) override {}
  void on(const field&, std::vector<std::string>&) override {}
  void on(const field& f, schedule& x) override;
  void on(const field& f, field_value& x) override;
  void on(const field& f, std::size_t& x,
          std::span<const std::string_view> names) override;

private:
  std::string path_;
  problems& out_;
};

/// One row of a settings table: what a field is and its present value as text.
struct field_row {
  std::string key;
  std::string type;
  std::string allowed;
  std::string value;
  std::string help;
};

/// Lists all fields with their present values.
class field_lister final : public field_visitor {
public:
  void on(const field& f, bool& x) override;
  void on(const field& f, std::int64_t& x, range<std::int64_t> r) override;
  void on(const field& f, double& x, range<double> r) override;
  void on(const field& f, duration& x, range<duration> r) override;
  void on(const field& f, std::string& x) override;
  void on(const field& f, std::vector<std::string>& x) override;
  void on(const field& f, schedule& x) override;
  void on(const field& f, field_value& x) override;
  void on(const field& f, std::size_t& x,
          std::span<const std::string_view> names) override;

  std::vector<field_row> rows;
};

/// The rows of `config`, with its present values.
template <class Config>
[[nodiscard]] std::vector<field_row> rows_of(Config config) {
  field_lister v;
  describe(v, config);
  return std::move(v.rows);
}

/// All that is wrong with a config struct: every field out of range and every
/// relation between fields that does not hold. Config structs with such
/// relations provide `void check(const Config&, const std::string& path,
/// problems&)`.
template <class Config>
[[nodiscard]] problems problems_of(Config config,
                                   const std::string& path = {}) {
  problems out;
  range_checker v{path, out};
  describe(v, config);
  if constexpr (requires { check(config, path, out); })
    check(config, path, out);
  return out;
}

/// Adds to `out` those of `more` whose key is not yet in it. Problems without a
/// place get that of the value in `from` that they are about, or else `place`.
void add_problems(problems more, const settings& from, std::string_view path,
                  std::string_view place, problems& out);

/// Reads `from` over `config` and checks the result; reports every problem at
/// once. On problems `config` is left as it was. `place` is where `from` itself
/// stands, for problems that no single value in it is to blame for.
template <class Config>
[[nodiscard]] problems read_settings(const settings& from,
                                     const std::string& path, Config& config,
                                     std::string_view place = {}) {
  problems out;
  auto next = config;
  settings_reader v{from, path, out};
  describe(v, next);
  v.finish();
  add_problems(problems_of(next, path), from, path, place, out);
  if (out.empty())
    config = std::move(next);
  return out;
}

/// Throws `config_error` unless `config` is valid.
template <class Config>
void require_valid(const Config& config, const std::string& path = {}) {
  if (auto found = problems_of(config, path); !found.empty())
    throw config_error{std::move(found)};
}

/// `path.key`, or `key` alone.
[[nodiscard]] std::string joined(std::string_view path, std::string_view key);

/// Turns `{"open.base": "5s", "threshold": "3"}`, as `reconfigure` carries it,
/// into a tree of raw values. A dotted key below one that has a value of its
/// own (`open` and `open.base`) stays as it is, and its reader reports it. So
/// does a key that has more than `most_levels` parts or `longest_key` bytes.
[[nodiscard]] settings
settings_from_text(const std::map<std::string, std::string>& pairs);

/// How the value reads in a message: `5`, `"abc"`, `a table`.
[[nodiscard]] std::string to_text(const setting& s);

/// The shortest decimal text that reads back to the same double.
[[nodiscard]] std::string to_text(double x);

} // namespace caisson
