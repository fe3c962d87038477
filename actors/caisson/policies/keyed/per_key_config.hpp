// The settings of a policy that is kept for each key of the calls.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/settings.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace caisson {

/// What becomes of calls without a key.
enum class keyless_calls : std::uint8_t {
  /// Calls without a key pass, and no policy sees them.
  pass,
  /// Calls without a key share one more policy, which is never dropped.
  share,
  /// Calls without a key are refused.
  reject,
};

template <>
struct enum_names<keyless_calls> {
  static constexpr std::string_view value[] = {"pass", "share", "reject"};
};

/// Settings that replace those of the layer for one key, by their names and as
/// texts: `{{"rate", "500"}, {"burst", "50"}}`.
class key_settings {
public:
  key_settings() = default;
  /// Names and texts of settings, as in `reconfigure`; nested ones with dots.
  key_settings(
    std::initializer_list<std::pair<const std::string, std::string>> texts)
    : values_(settings_from_text(std::map<std::string, std::string>{texts})) {}

  /// The settings as a table.
  [[nodiscard]] const settings& values() const noexcept { return values_; }

  /// Replaces what `more` has, and keeps the rest.
  void change(const settings& more);

private:
  settings values_;
};

using key_overrides = std::map<std::string, key_settings, std::less<>>;

/// The table `per_key` of a layer.
struct per_key_config {
  /// The longest key of an override, in bytes; as in messages.
  static constexpr std::size_t longest_key = 1024;
  /// How many overrides there may be.
  static constexpr std::size_t most_overrides = 10'000;

  /// How many keys there may be, not counting that of calls without a key; 1 to
  /// 1000000, default 10000. At the limit, the least recently used key without
  /// calls is dropped, unless its circuit is not closed. If there is none, a
  /// call with a new key is refused with `shed`.
  std::uint32_t max_keys = 10'000;

  /// A key without calls that was not used for this long is dropped as soon as
  /// its policy is idle; 1s to unlimited, default 10min.
  duration idle = std::chrono::minutes(10);

  /// What becomes of calls without a key; default `share`.
  keyless_calls keyless = keyless_calls::share;

  /// Keys with settings of their own, at most 10000.
  key_overrides overrides = {};
};

void describe(field_visitor& v, per_key_config& c);

/// Checks the names and the number of overrides. Only the config of the layer
/// can check their contents.
void check(const per_key_config& c, const setting_path& path, problems& out);

namespace detail {

/// The path of the override for `key` in a layer at `path`.
[[nodiscard]] setting_path path_of_override(const setting_path& path,
                                            std::string_view key);

/// Reports settings in an override that only a whole layer can have.
void check_override(const key_settings& x, const setting_path& at,
                    problems& out);

} // namespace detail
} // namespace caisson
