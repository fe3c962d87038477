// A model of a feature's layer: lists of who holds which feature off.
#pragma once

#include <caisson/policies/feature.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

class feature_model : public policy_model<feature> {
public:
  // `other`: somebody holds features off or on, or the layer watches them.
  static constexpr step_shares shares{.arrive = 2,
                                      .end = 1,
                                      .abandon = 1,
                                      .advance = 0,
                                      .reconfigure = 1,
                                      .other = 3};

  explicit feature_model(feature_config c) : c_(std::move(c)) {}

  static feature_config any_settings() {
    return {.feature = any_of<std::string>({"a", "b", "c"})};
  }

  static duration length(const operation&) { return duration::zero(); }

  void arrive(call_id id, const call_info&) {
    auto passes = !watched_ || is_on(c_.feature);
    ++count[passes ? "admitted" : "rejected"];
    auto& x = calls[id];
    if (!passes)
      x.reject(errc::feature_off);
  }

  // Whatever became of the feature, calls in flight go on.
  void finish(call_id id, const ending<>&) { calls[id].where = place::passed; }
  static void abandon(call_id, errc) {}

  void reconfigure(const feature_config& c) { c_ = c; }

  void other(const operation& x, rig& real) {
    auto i = x.which % holds_.size();
    switch (x.which / 10 % 3) {
      case 0:
        if (!holds_[i])
          holds_[i] = std::make_unique<feature_hold>(flags_);
        held_[i] = some_names(x.how);
        holds_[i]->set(held_[i]);
        break;
      case 1:
        holds_[i].reset();
        held_[i].clear();
        break;
      default:
        watched_ = x.how % 4 != 0;
        real.policy.watch(watched_ ? flags_ : nullptr);
    }
  }

  [[nodiscard]] std::string_view state() const {
    return !watched_ || is_on(c_.feature) ? "on" : "off";
  }

  void check(const rig&) const {
    for (const std::string name : {"a", "b", "c"})
      RC_ASSERT(flags_->is_on(name) == is_on(name));
  }

private:
  using strings = std::vector<std::string>;

  // Any of them, also twice, and one that no layer asks for.
  static strings some_names(unsigned n) {
    strings out;
    for (const auto* name : {"a", "b", "c", "a", "other"}) {
      if (n % 2 == 1)
        out.emplace_back(name);
      n /= 2;
    }
    return out;
  }

  [[nodiscard]] bool is_on(const std::string& name) const {
    return std::none_of(held_.begin(), held_.end(), [&](const auto& all) {
      return std::find(all.begin(), all.end(), name) != all.end();
    });
  }

  feature_config c_;
  bool watched_ = false;
  std::shared_ptr<feature_flags> flags_ = std::make_shared<feature_flags>();
  std::array<std::unique_ptr<feature_hold>, 3> holds_;
  std::array<strings, 3> held_;
};

} // namespace caisson::test
