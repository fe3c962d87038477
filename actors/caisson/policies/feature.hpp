// Lets calls pass only while a feature is on.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/feature_flags.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// The settings of a feature layer.
struct feature_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};

  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// The feature that the calls belong to; not empty. Default: extras, the
  /// lowest level of a degradation layer with its defaults.
  std::string feature = "extras";

  /// When a rejected caller may come back: 0 to 24h, default 0: unknown.
  duration retry_after = duration::zero();
};

/// Lists the fields of `c`.
void describe(field_visitor& v, feature_config& c);

/// Checks that there is a feature.
void check(const feature_config& c, const setting_path& path, problems& out);

// -- counters -----------------------------------------------------------------

/// What a feature layer counts; docs/degradation.md says what each means.
enum class feature_counter : std::uint8_t { admitted, rejected, count_ };

template <>
struct enum_names<feature_counter> {
  static constexpr std::string_view value[] = {"admitted", "rejected"};
};

// -- policy -------------------------------------------------------------------

/// Rejects calls with `feature_off` while a feature is off in the flags that it
/// watches. Calls in progress go on. Without flags the feature is on.
class feature final
  : public policy_base<feature, feature_config, feature_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "feature";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit feature(feature_config c);

  /// Uses `flags`, which may be null, from now on.
  void watch(std::shared_ptr<feature_flags> flags);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- operation --------------------------------------------------------------

  /// `on` or `off`.
  [[nodiscard]] std::string_view state() const override;

protected:
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;

private:
  std::shared_ptr<feature_flags> flags_;
  feature_flags::feature switch_;
};

} // namespace caisson
