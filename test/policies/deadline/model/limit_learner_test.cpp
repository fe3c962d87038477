#include <policies/deadline/model/limit_learner_model.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::limit_learner;

RC_GTEST_PROP(limit_learner, agrees_with_its_model, ()) {
  learned_limit c;
  c.on = true;
  c.quantile = *rc::gen::element(0.5, 0.9, 0.95, 0.999);
  c.factor = *rc::gen::element(1.0, 1.5, 100.0);
  c.deviations = *rc::gen::element(0.0, 2.0, 100.0);
  c.least = *rc::gen::element<duration>(1us, 1ms);
  c.most = *rc::gen::element<duration>(1ms, 1s, 24h * 365);
  c.window = *rc::gen::element<duration>(100ms, 10s, 24h);
  c.minimum_samples = *rc::gen::element(1u, 3u, 20u);
  constexpr std::array<duration, 8> lengths{0ns,  130ns, 1us, 900us,
                                            10ms, 11ms,  1s,  1h};
  auto otherwise = *rc::gen::element<duration>(1ms, 1s, unlimited);
  limit_learner real{c};
  limit_learner_model model{c};
  auto now = time_point{} + 1000h;
  for (auto& op : *operations(5)) {
    auto took = pick(lengths, op.how) * static_cast<int>(1 + op.which % 3);
    switch (op.kind) {
      case 0:
      case 1:
        real.succeeded(took, now);
        model.add(took, true, now);
        break;
      case 2:
        real.cut_off(took, now);
        model.add(took, false, now);
        break;
      case 3:
        now += c.window / static_cast<int>(1 + op.how % 60);
        break;
      case 4:
        now += real.period();
        RC_ASSERT(real.limit(now, otherwise) == model.limit(now, otherwise));
        break;
    }
  }
}

} // namespace
} // namespace caisson::test
