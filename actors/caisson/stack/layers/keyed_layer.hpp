// The layer of a policy that is kept for each key.
#pragma once

#include <caisson/engine/layer.hpp>
#include <caisson/policies/keyed/keyed.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson {

/// Whether a policy can work for each key without its own layer, although it
/// has one. Specialise it for such policies.
template <class Policy>
inline constexpr bool works_without_layer = false;

/// Whether there can be a `keyed<Policy>`: it ignores the content of calls, and
/// is constructed from its config alone, which must not be final.
template <class Policy>
inline constexpr bool can_be_keyed
  = (std::is_same_v<layer_of_t<Policy>,
                    policy_layer<Policy>> || works_without_layer<Policy>)&&std::
      is_constructible_v<
        Policy,
        typename Policy::
          config_type> && !std::is_final_v<typename Policy::config_type>;

/// Hosts a `keyed<Policy>`:
///
///     stack{}.add<keyed<limiter>>({{.rate = 50}, {.max_keys = 1000}})
template <class Policy>
class keyed_layer : public policy_layer<keyed<Policy>> {
public:
  static_assert(can_be_keyed<Policy>,
                "a policy that sees the content of calls cannot be per key");

  /// Throws `config_error` if `c` is not valid.
  explicit keyed_layer(const keyed_config<Policy>& c)
    : policy_layer<keyed<Policy>>(c) {
    this->machine().ask_mode(
      [this] { return this->active() == mode::enforce; });
  }

  keyed_layer(const keyed_layer&) = delete;
  keyed_layer& operator=(const keyed_layer&) = delete;

  /// Keys are those of whom calls belong to.
  [[nodiscard]] static key_meaning meaning_of_key(const keyed_config<Policy>&) {
    return key_meaning::owner;
  }
  [[nodiscard]] key_meaning key_use(const settings&) const override {
    return key_meaning::owner;
  }

  [[nodiscard]] std::vector<key_report>
  busiest_keys(std::size_t n) const override {
    return this->policy_machine().busiest(n);
  }
};

template <class Policy>
struct layer_of<keyed<Policy>> {
  using type = keyed_layer<Policy>;
};

} // namespace caisson
