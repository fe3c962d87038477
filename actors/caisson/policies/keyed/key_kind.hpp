// The kind of the policies of keys: how one is made, changed and judged.
#pragma once

#include <caisson/policies/keyed/per_key_config.hpp>
#include <caisson/policy/policy.hpp>

#include <memory>
#include <string_view>

namespace caisson::detail {

/// The kind of the policies of a keyed policy, with the settings in force.
class key_kind {
public:
  key_kind() = default;
  key_kind(const key_kind&) = delete;
  key_kind& operator=(const key_kind&) = delete;

  /// The settings of the keys, as they are in force.
  [[nodiscard]] virtual const per_key_config& per_key() const noexcept = 0;
  /// A new policy for that key, with the settings that overrides give it. An
  /// empty key is that of calls without one, or of no call at all.
  [[nodiscard]] virtual std::unique_ptr<policy>
  make(std::string_view key) const = 0;
  /// Gives the policy of that key the settings that it has by now.
  virtual void change(std::string_view key, policy& p, env& e) const = 0;
  /// Whether forgetting the policy at `now` loses nothing of importance.
  [[nodiscard]] virtual bool is_idle(const policy& p,
                                     time_point now) const noexcept = 0;

protected:
  ~key_kind() = default;
};

} // namespace caisson::detail
