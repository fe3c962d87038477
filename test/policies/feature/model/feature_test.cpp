// Features that several hold off, and the layers that go by them, against lists
// of who holds what.
#include <caisson/policies/feature.hpp>

#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;

const strings names = {"a", "b", "c"};

// Any of them, also twice, and one that no layer asks for.
strings some_names(unsigned n) {
  strings out;
  for (const auto* name : {"a", "b", "c", "a", "other"}) {
    if (n % 2 == 1)
      out.emplace_back(name);
    n /= 2;
  }
  return out;
}

RC_GTEST_PROP(feature_property, is_on_while_nobody_holds_it_off, ()) {
  auto board = std::make_shared<feature_flags>();
  std::array<std::unique_ptr<feature_hold>, 3> holds;
  std::array<strings, 3> held;
  auto is_on = [&](const std::string& name) {
    return std::none_of(held.begin(), held.end(), [&](const strings& all) {
      return std::find(all.begin(), all.end(), name) != all.end();
    });
  };
  solo<feature> layer{feature_config{.feature = "a"}};
  auto watched = false;
  auto name = std::string{"a"};
  std::int64_t admitted = 0;
  std::int64_t rejected = 0;
  std::vector<call_id> below;
  for (const auto& x : *operations(7)) {
    auto i = x.which % holds.size();
    switch (x.kind) {
      case 0:
        if (!holds[i])
          holds[i] = std::make_unique<feature_hold>(board);
        held[i] = some_names(x.how);
        holds[i]->set(held[i]);
        break;
      case 1:
        holds[i].reset();
        held[i].clear();
        break;
      case 2:
        name = pick(names, x.how);
        layer.policy.reconfigure({.feature = name}, layer.e);
        break;
      case 3:
        watched = x.how % 4 != 0;
        layer.policy.watch(watched ? board : nullptr);
        break;
      case 4:
        // Whatever became of the feature, calls in flight go on.
        if (!below.empty()) {
          layer.fail(below.back());
          RC_ASSERT(layer.where(below.back()) == place::passed);
          below.pop_back();
        }
        break;
      default: {
        auto id = layer.arrive();
        auto passes = !watched || is_on(name);
        RC_ASSERT(layer.where(id) == (passes ? place::below : place::rejected));
        ++(passes ? admitted : rejected);
        if (passes)
          below.push_back(id);
        else
          RC_ASSERT(layer.calls.at(id).code == errc::feature_off);
      }
    }
    RC_ASSERT(layer.policy.state() == (!watched || is_on(name) ? "on" : "off"));
    for (const auto& n : names)
      RC_ASSERT(board->is_on(n) == is_on(n));
  }
  RC_ASSERT(layer.count("admitted") == admitted);
  RC_ASSERT(layer.count("rejected") == rejected);
}

} // namespace
} // namespace caisson::test
