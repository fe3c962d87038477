// What can be wrong with a configuration.
#pragma once

#include <caisson/setting_path.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson {

/// How many problems are told one by one; later ones are only counted.
inline constexpr std::size_t most_listed_problems = 100;

/// In which way a configuration is wrong. Programs decide by this and by the
/// key; messages are for people.
enum class problem_kind : std::uint8_t {
  /// Something that must be given is not.
  missing,
  /// A key that nobody reads, or the name of a thing that there is not.
  unknown,
  /// A value of the right type that is not one of those allowed.
  range,
  /// A value that does not go together with another one.
  relation,
  /// A value of a type that cannot be used here.
  type,
  /// A file or a text that cannot be read or taken apart.
  syntax,
};

/// One thing that is wrong with a configuration.
struct problem {
  problem_kind kind = problem_kind::relation;
  /// Which setting.
  setting_path key = {};
  /// What is wrong, with the value found and the values allowed.
  std::string message = {};
  /// Where: `file:line:column`, or empty if it did not come from a file.
  std::string place = {};

  friend bool operator==(const problem&, const problem&) = default;
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

} // namespace caisson
