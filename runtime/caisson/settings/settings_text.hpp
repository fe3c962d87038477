// Formats configuration values for messages and tables: shared by the sources
// that print or read settings, of no interest to their users.
#pragma once

#include <caisson/settings/field.hpp>

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// `text` without blanks and line breaks around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Fit for a terminal: line breaks and other control characters become escapes
/// such as `\x1b`, and so do what reverses the direction of writing and bytes
/// that are not UTF-8. Everything else stays as it is.
[[nodiscard]] std::string printable(std::string_view text);

/// At most `most` bytes of it, followed by `…` if that is not all.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// How many bytes of a text `quoted` shows.
inline constexpr std::size_t longest_quoted = 80;

/// In quotes, on one line, and not longer than a message should be.
[[nodiscard]] std::string quoted(std::string_view text);

/// How many names `listed` shows.
inline constexpr std::size_t most_listed_names = 60;

/// `a, b, c`; of very many the first ones: `a, b, c and 940 more`.
[[nodiscard]] std::string listed(std::span<const std::string_view> names);
[[nodiscard]] std::string listed_names(const std::vector<std::string>& names);

/// `["a", "b", "c"]`
[[nodiscard]] std::string listed(const std::vector<std::string>& texts);

/// `1 to 10`; a bound that is the type's own limit is left out.
[[nodiscard]] std::string allowed(const range<std::int64_t>& r);
[[nodiscard]] std::string allowed(const range<double>& r);
[[nodiscard]] std::string allowed(const range<duration>& r);

/// Whether `x` is in `r`, bounds included. False for NaN.
template <class T>
[[nodiscard]] bool within(T x, const range<T>& r) {
  return x >= r.lo && x <= r.hi;
}

/// `value` is how the offending value reads.
template <class T>
[[nodiscard]] std::string out_of_range(std::string_view value,
                                       const range<T>& r) {
  return std::string{value} + " is out of range, allowed: " + allowed(r);
}

[[nodiscard]] std::string not_finite(std::string_view value,
                                     const range<double>& r);

[[nodiscard]] std::string not_one_of(std::string_view value,
                                     std::span<const std::string_view> names);

/// Why a dotted key is not taken apart: it is too long, or has too many parts.
/// Empty if it can be.
[[nodiscard]] std::string key_excess(std::string_view key);

/// How `key_excess` and other readers say it.
[[nodiscard]] std::string too_deep();
[[nodiscard]] std::string too_long_key(std::size_t bytes);

/// The known name that is fewest edits away from `name`; empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       const std::vector<std::string>& known);

/// `, did you mean "x"?` if `meant` is x, and `,` if it is empty.
[[nodiscard]] std::string hint(std::string_view suggestion);

/// The table that `s` is; otherwise null, and a problem.
[[nodiscard]] const settings* table_in(const setting& s,
                                       const setting_path& path, problems& out);

/// The list that `s` is; otherwise null, and a problem.
[[nodiscard]] const std::vector<setting>*
list_in(const setting& s, const setting_path& path, std::string_view allowed,
        problems& out);

/// What is allowed where a list of tables is wanted.
[[nodiscard]] std::string tables_at(const setting_path& path);

/// Reports a name that is not made of letters, digits, `_` and `-`.
void check_name(std::string_view name, std::string_view place,
                const setting_path& path, problems& out);

/// How reading a value as a certain type went.
enum class read_result : std::uint8_t { good, wrong_type, too_large };

/// Reads all of `text`, blanks and a leading plus sign aside.
template <class T>
[[nodiscard]] read_result read_number(std::string_view text, T& x) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1);
  auto end = text.data() + text.size();
  auto [rest, ec] = std::from_chars(text.data(), end, x);
  if (rest != end || ec == std::errc::invalid_argument)
    return read_result::wrong_type;
  return ec == std::errc{} ? read_result::good : read_result::too_large;
}

} // namespace caisson::detail
