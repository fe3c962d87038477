// Settings as they are found: a tree of values with places.
#pragma once

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

/// How deep a value may lie. Parts of dotted keys, tables and items of lists
/// count together: `a.b = [{ c = 1 }]` has four levels. What is deeper is
/// refused before it is taken apart.
inline constexpr std::size_t most_levels = 64;

/// How long a key may be as it is written, in bytes, all its parts included.
inline constexpr std::size_t longest_key = 500;

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
