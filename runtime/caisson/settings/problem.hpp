// Problems of a configuration.
#pragma once

#include <caisson/settings/setting_path.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson {

/// How many problems are listed individually; further ones are only counted.
inline constexpr std::size_t most_listed_problems = 100;

/// The kind of a problem. Programs use this and the key; messages are for
/// people.
enum class problem_kind : std::uint8_t {
  /// Something required is not given.
  missing,
  /// An unknown key, or the name of something that does not exist.
  unknown,
  /// A value of the right type that is not allowed.
  range,
  /// A value that conflicts with another one.
  relation,
  /// A value of a type that cannot be used here.
  type,
  /// A file or text that cannot be read or parsed.
  syntax,
};

/// One problem of a configuration.
struct problem {
  /// What kind of mistake it is.
  problem_kind kind = problem_kind::relation;
  /// Which setting.
  setting_path key = {};
  /// The problem, with the value found and the values allowed.
  std::string message = {};
  /// Where: `file:line:column`, or empty if it did not come from a file.
  std::string place = {};

  friend bool operator==(const problem&, const problem&) = default;
  friend auto operator<=>(const problem&, const problem&) = default;
};

/// All problems, in the order found.
using problems = std::vector<problem>;

/// `file:3:7: stack.db.breaker.threshold: 0 is out of range, allowed: 1 to 9`.
/// Empty places and keys are left out. Safe for a terminal: always one line,
/// with control characters escaped and very long texts cut.
[[nodiscard]] std::string to_text(const problem& p);

/// One line per problem, without a line break at the end. If there are more
/// than `most_listed_problems`, a last line gives the total.
[[nodiscard]] std::string to_text(const problems& ps);

/// Thrown if an invalid configuration is passed to a constructor or a `spawn_…`
/// function. `what()` is `to_text(all())`.
class config_error : public std::invalid_argument {
public:
  /// Takes all that was found; one of them at least.
  explicit config_error(problems found);
  /// In the order found.
  [[nodiscard]] const problems& all() const noexcept { return problems_; }

private:
  problems problems_;
};

} // namespace caisson
