// A policy for each key, which a policy per key is to be like.
#pragma once

#include <policies/keyed/model/keyed_rig.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// Some policies, each with the calls of its key. It is no model for
/// `check_against_model`: they are the same code as what is compared with them,
/// of any kind of policy, and have rigs and numbers of calls of their own.
template <class Policy>
class keyed_model {
public:
  static constexpr std::size_t keys = 4;

  explicit keyed_model(const typename Policy::config_type& c) {
    for (auto& x : all_)
      x = std::make_unique<rig<Policy>>(c);
  }

  static std::string name_of_key(std::size_t k) {
    return "key " + std::to_string(k);
  }

  rig<Policy>& operator[](std::size_t k) { return *all_[k]; }

  template <class F>
  void each(F f) {
    for (auto& x : all_)
      f(*x);
  }

  /// Counters, and gauges of which the sum makes sense.
  [[nodiscard]] std::map<std::string_view, std::int64_t> sums() const {
    std::vector<metric> ms;
    for (auto& x : all_)
      x->policy.list_metrics(ms);
    std::map<std::string_view, std::int64_t> out;
    for (auto& m : ms)
      if (!m.gauge || m.name == "waiting" || m.name == "in_use")
        out[m.name] += m.value;
    return out;
  }

private:
  std::array<std::unique_ptr<rig<Policy>>, keys> all_;
};

} // namespace caisson::test
