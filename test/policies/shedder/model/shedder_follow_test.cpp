// A shedder that follows its callee against a model that keeps each call.
#include <policies/shedder/model/shedder_follow_model.hpp>
#include <policies/shedder/model/shedder_rig.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class followed_shedder {
public:
  followed_shedder() {
    model_.time = followed().follow_for;
    model_.count["passed"] = most_answers;
  }

  void step(const operation& x) {
    switch (x.kind) {
      case 0:
      case 1:
      case 2:
        for (auto i = 0u; i <= x.how % 20; ++i)
          arrive(x, i);
        break;
      case 3:
        if (answers_ == most_answers)
          break;
        ++answers_;
        real_.on_threshold(pick(thresholds, x.how));
        model_.on_threshold(real_.now(), pick(thresholds, x.how));
        break;
      case 4:
        real_.advance(pick(lengths, x.how));
        break;
      case 5:
        if (x.which % 3 == 0)
          change(x);
        break;
    }
    for (auto name : {"passed", "shed_early", "asked", "thresholds_received"})
      RC_ASSERT(real_.count(name) == model_.count[name]);
  }

private:
  static constexpr int most_answers = 200;
  static constexpr std::array<std::uint16_t, 7> thresholds{
    1, 60, middle, middle + 1, middle + 40, middle + 128, 4'096};
  static constexpr std::array<duration, 6> lengths{0ns,       1ns, 10ms,
                                                   1s - 10ms, 1s,  1min};

  void arrive(const operation& x, unsigned i) {
    auto priority = static_cast<std::int32_t>((x.which + i) % 3) * 20 - 20;
    auto rank = std::clamp(priority, -16, 15) + 16;
    auto user = x.which % 2 == 0 ? 0 : static_cast<int>(1 + (x.how + i) % 128);
    std::uint8_t drawn = 0;
    auto fate = model_.arrive(real_.now(), rank, user, draws_, drawn);
    auto id = real_.arrive(of_user(static_cast<std::uint8_t>(user), priority));
    RC_ASSERT((real_.where(id) == place::below) == fate.goes);
    const auto& c = real_.calls.at(id).call;
    RC_ASSERT(int{c.user_priority} == int{drawn});
    RC_ASSERT(int{c.stands_for} == fate.stands_for);
    if (fate.goes)
      real_.finish(id);
    real_.calls.erase(id);
  }

  void change(const operation& x) {
    if (x.how % 3 == 0) {
      real_.command(operator_command::reset);
      model_.forget();
      model_.count.clear();
      return;
    }
    auto c = followed();
    c.follow_for = pick(std::array<duration, 4>{0ns, 10ms, 1s, 1min}, x.how);
    real_.reconfigure(c);
    model_.change(real_.now(), c.follow_for);
  }

  follower real_{followed(), most_answers};
  int answers_ = 0;
  shedder_follow_model model_;
  random_source draws_{7};
};

RC_GTEST_PROP(shedder_follow_property, agrees_with_its_model, ()) {
  followed_shedder r;
  for (const auto& op : *operations(6))
    r.step(op);
}

} // namespace
} // namespace caisson::test
