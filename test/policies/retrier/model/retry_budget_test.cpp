#include <caisson/policy/retry_budget.hpp>

#include <policies/retrier/model/retry_budget_model.hpp>
#include <support/operations.hpp>
#include <support/times.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

retry_budget::limits some_limits() {
  return {*rc::gen::element<duration>(1s, 1234ms, 10s, 60s),
          *rc::gen::element<std::uint32_t>(0, 1, 10, 1'000'000),
          *rc::gen::element(0.0, 0.000001, 0.2, 1.0 / 8, 0.5, 1.0)};
}

constexpr std::array<duration, 8> budget_steps{0ns,   1ns, 10ms, 100ms,
                                               123ms, 1s,  7s,   61s};

RC_GTEST_PROP(retry_budget, agrees_with_its_model, ()) {
  auto l = some_limits();
  retry_budget real{l};
  retry_budget_model model{l};
  auto now = start;
  for (auto& op : *operations(10)) {
    switch (op.kind) {
      default:
        real.deposit(now);
        model.deposit(now);
        break;
      case 4:
      case 5: {
        std::uint32_t cost = op.how % 3 == 0 ? 7 : 1;
        RC_ASSERT(real.try_withdraw(now, cost)
                  == model.try_withdraw(now, cost));
        break;
      }
      case 6:
      case 7:
        now += pick(budget_steps, op.how);
        break;
      case 8:
        now -= pick(budget_steps, op.how);
        break;
      case 9:
        if (op.how < 100) {
          real.clear();
          model.clear();
        }
        break;
    }
    auto left = model.balance(now);
    RC_ASSERT(real.balance(now) == left);
    RC_ASSERT(real.balance() == left);
  }
}

RC_GTEST_PROP(retry_budget, never_grants_more_than_its_share, ()) {
  auto l = some_limits();
  l.ttl = *rc::gen::element<duration>(1s, 10s, 60s);
  l.reserve = *rc::gen::element<std::uint32_t>(0, 1, 2);
  retry_budget real{l};
  auto now = start;
  std::vector<time_point> deposits;
  std::vector<time_point> retries;
  auto since = [](const std::vector<time_point>& ts, time_point t) {
    double n = 0;
    for (auto x : ts)
      n += x >= t;
    return n;
  };
  for (auto& op : *operations(10)) {
    if (op.kind < 4) {
      real.deposit(now);
      deposits.push_back(now);
    } else if (op.kind < 8) {
      if (!real.try_withdraw(now))
        continue;
      retries.push_back(now);
      // What counts are whole slices: at least nine, at most ten of them.
      RC_ASSERT(since(retries, now - l.ttl / 10 * 9)
                <= l.reserve * to_seconds(l.ttl)
                     + l.ratio * since(deposits, now - l.ttl) + 1e-6);
    } else {
      now += pick(budget_steps, op.how) / 10;
    }
  }
}

} // namespace
} // namespace caisson::test
