// Turns that are promised, beside a list that is looked through for each one.
#include <caisson/policy/promised_turns.hpp>

#include <policies/limiter/model/promised_turns_model.hpp>
#include <support/operations.hpp>
#include <support/times.hpp>
#include <support/violations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using detail::promised_turns;
using detail::rate_shape;
using detail::rate_source;

struct promises_by_two {
  explicit promises_by_two(const rate_shape& x) : source(x) {
    source.advance(now);
  }

  void reserve(std::uint32_t n, std::vector<std::uint32_t> before,
               time_point from, bool stays) {
    auto turn = quick.turn_of(source, before, n, from);
    before.push_back(n);
    RC_ASSERT(turn == model.turn_of(source, before, from));
    if (!stays)
      return;
    ++last;
    quick.add(turn, last, n);
    model.turns.emplace(std::pair{turn, last}, n);
  }

  void give_back(std::size_t n) {
    if (model.turns.empty())
      return;
    auto i = std::next(model.turns.begin(),
                       static_cast<std::ptrdiff_t>(n % model.turns.size()));
    RC_ASSERT(quick.remove(source, i->first.first, i->first.second));
    model.turns.erase(i);
  }

  void take(std::uint32_t n) {
    auto other = source;
    auto taken = quick.take(source, n);
    RC_ASSERT(taken == model.take(other, n));
    RC_ASSERT(source == other);
  }

  // Returns the most that it holds from now on: promises can be heavier.
  std::int64_t reshape(rate_shape& x, std::int64_t most) {
    (x.algorithm == rate_algorithm::token_bucket ? x.burst : x.rate) = most;
    source.reshape(x, now);
    return most;
  }

  void advance(duration d) {
    now += d;
    quick.catch_up(source, now);
    model.catch_up(now);
    RC_ASSERT(quick.size() == model.turns.size());
  }

  time_point now = at(std::chrono::seconds(1));
  rate_source source;
  promised_turns quick;
  promised_turns_model model;
  call_id last = 0;
};

RC_GTEST_PROP(promised_turns_property, find_the_first_gap_with_room, ()) {
  using enum rate_algorithm;
  rate_shape x;
  x.algorithm = *rc::gen::element(token_bucket, fixed_window, sliding_window,
                                  leaky_bucket);
  x.rate = *rc::gen::element<std::int64_t>(1, 2, 5);
  x.per = duration{*rc::gen::element<std::int64_t>(1000, 2000)};
  x.burst = *rc::gen::element<std::int64_t>(1, 2, 3, 7);
  auto heaviest = x.algorithm == token_bucket ? x.burst : x.rate;
  auto interval = x.per / x.rate;
  promises_by_two p{x};
  for (auto [what, n, m] : *any_steps(80, 14, 8)) {
    auto weight = static_cast<std::uint32_t>(
      1 + n % std::min<std::int64_t>(heaviest, 3));
    auto waiting = std::vector<std::uint32_t>(
      what < 2 ? static_cast<std::size_t>(n) % 7 : 0,
      static_cast<std::uint32_t>(1 + (n & 1) % heaviest));
    if (what < 6)
      p.reserve(weight, waiting,
                m < 6 ? p.now : p.now + interval * (n % 40) / 4, m != 0);
    else if (what < 9)
      p.give_back(static_cast<std::size_t>(n));
    else if (what < 11)
      p.take(weight);
    else if (what < 12 && m == 0)
      p.source.put_back(weight, p.now, p.now);
    else if (what < 12 && m == 1)
      p.source.drain(p.now + interval * (n % 4));
    else if (what < 12 && m == 2)
      heaviest = p.reshape(x, 1 + n % 7);
    else
      p.advance(interval * (n % 9) / 4);
  }
}

TEST(promised_turns, a_call_has_one_promise_for_an_instant) {
  violations_throw guard;
  promised_turns turns;
  turns.add(at(std::chrono::seconds(5)), 1, 1);
  turns.add(at(std::chrono::seconds(5)), 2, 1);
  EXPECT_THROW(turns.add(at(std::chrono::seconds(5)), 1, 1),
               invariant_violation);
  EXPECT_EQ(turns.size(), 2u);
}

} // namespace
} // namespace caisson::test
