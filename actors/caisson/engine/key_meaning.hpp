// Meaning of the key of calls to a layer.
#pragma once

#include <caisson/settings/setting_path.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// What a layer takes the key of calls for.
enum class key_meaning : std::uint8_t {
  /// For nothing.
  none,
  /// What they ask for: calls with the same key get the same answer.
  content,
  /// Whom or what they belong to, such as a tenant.
  owner,
};

/// What a layer that takes keys for content needs if it stands beside one that
/// takes them for owners.
struct key_remedy {
  /// Its setting that is wrong then; empty: none in particular.
  std::string setting = {};
  /// What to do: "must be true".
  std::string text = {};
};

namespace detail {

/// What is wrong with the layer `by_content` if `by_owner` takes the key of
/// calls for whom they belong to.
[[nodiscard]] std::string key_conflict_text(const key_remedy& remedy,
                                            std::string_view by_owner);

/// That setting of the layer at `layer`, or the layer.
[[nodiscard]] setting_path key_conflict_path(const setting_path& layer,
                                             std::string_view setting);

} // namespace detail
} // namespace caisson
