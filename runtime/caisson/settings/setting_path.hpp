// Identifies a setting of a configuration.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace caisson {

/// The path to a setting: keys of tables, and indexes of items in lists, from
/// the outside in. Paths are compared part by part. `to_text` is for people.
///
///     setting_path{"stack.db"} / "layer" / 0 / "kind"
///
/// A value type without shared state; safe to use from any thread.
class setting_path {
public:
  /// A key, or the index of an item, counted from 0.
  using part = std::variant<std::string, std::size_t>;

  /// The path of the configuration as a whole.
  setting_path() = default;

  /// Parses a path such as `stack.db.layer[0].kind`. Dots separate keys, and
  /// indexes are in brackets. A key that contains either can only be appended
  /// by `/`.
  setting_path(std::string_view text);
  /// Parses a path, as above.
  setting_path(const std::string& text)
    : setting_path(std::string_view{text}) {}
  /// Parses a path, as above; not null.
  setting_path(const char* text) : setting_path(std::string_view{text}) {}

  /// Whether it is the path of the configuration as a whole.
  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }

  /// The keys and indexes, from the outside in.
  [[nodiscard]] const std::vector<part>& parts() const noexcept {
    return parts_;
  }

  /// Whether this is `outer` or is within it.
  [[nodiscard]] bool starts_with(const setting_path& outer) const;

  /// The path without its first `n` parts, or without all if there are fewer.
  [[nodiscard]] setting_path without_first(std::size_t n) const;

  /// This path, followed by `more`.
  [[nodiscard]] setting_path joined_with(const setting_path& more) const;

  /// The value of `key` in the table at `path`; the key may be any text.
  friend setting_path operator/(setting_path path, std::string_view key) {
    path.parts_.emplace_back(std::string{key});
    return path;
  }

  /// The item of the list at `path`.
  friend setting_path operator/(setting_path path, std::size_t index) {
    path.parts_.emplace_back(index);
    return path;
  }

  friend bool operator==(const setting_path&, const setting_path&) = default;
  friend auto operator<=>(const setting_path&, const setting_path&) = default;

private:
  std::vector<part> parts_;
};

/// `stack.db.layer[0].kind`
[[nodiscard]] std::string to_text(const setting_path& path);

} // namespace caisson
