// Settings as found: a tree of values with places.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace caisson {

// -- limits -------------------------------------------------------------------

/// How deeply values may be nested. Parts of dotted keys, tables and items of
/// lists all count: `a.b = [{ c = 1 }]` has four levels. Deeper values are
/// refused before parsing.
inline constexpr std::size_t most_levels = 64;

/// How long a key may be as written, in bytes, including all its parts.
inline constexpr std::size_t longest_key = 500;

// -- values -------------------------------------------------------------------

namespace detail {

/// Where in a file something stands, from 1 on. The default is nowhere.
struct file_position {
  std::uint64_t line = 0;
  std::uint64_t column = 0;

  friend auto operator<=>(const file_position&, const file_position&) = default;
};

} // namespace detail

struct setting;

/// A table is ordered by name; each value has its own `place`.
using settings = std::map<std::string, setting, std::less<>>;

/// A value as found in a TOML file or in a `reconfigure` message.
struct setting {
  /// Text from a `reconfigure` message or a command line. The field that it is
  /// for decides its type.
  struct raw {
    /// As given, without quotes.
    std::string text;
  };

  /// What was found; numbers and texts of a file have the type that they are
  /// written in.
  std::variant<raw, bool, std::int64_t, double, std::string,
               std::vector<setting>, settings>
    value;
  /// `file:line:column`; empty if it does not come from a file.
  std::string place;
  /// Where it counts as standing among others, if not at its place: what
  /// replaces a value stands where that did.
  detail::file_position stands = {};
};

/// Turns `{"open.base": "5s", "threshold": "3"}`, as `reconfigure` carries it,
/// into a tree of raw values. A dotted key below one with its own value (`open`
/// and `open.base`) stays as it is, and its reader reports it. So does a key
/// with more than `most_levels` parts or `longest_key` bytes.
[[nodiscard]] settings
settings_from_text(const std::map<std::string, std::string>& pairs);

/// The value as shown in a message: `5`, `"abc"`, `a table`.
[[nodiscard]] std::string to_text(const setting& s);

/// The shortest decimal text that reads back to the same double.
[[nodiscard]] std::string to_text(double x);

} // namespace caisson
