// A shedder that reports its threshold, and callers that follow it.
#include <policies/shedder/model/shedder_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// Callers with a follower each, of one shedder with room for so many calls a
/// second. A service that gets more is busy.
class chain {
public:
  explicit chain(int callers, duration follow_for) {
    auto c = followed();
    c.follow_for = follow_for;
    for (int i = 0; i < callers; ++i)
      callers_.push_back(std::make_unique<follower>(c));
  }

  // A second with so many calls; half of their users are the more important.
  void second(int calls, int room) {
    answered = arrivals = 0;
    for (int i = 0; i < calls; ++i) {
      auto& from = *callers_[static_cast<std::size_t>(i) % callers_.size()];
      call(from, of_user(static_cast<std::uint8_t>(1 + (i * 37) % 128)));
      callee.advance(duration{1s} / calls);
      for (auto& x : callers_)
        x->advance_to(callee.now());
    }
    callee.load->value.cpu = answered > room ? 1.0 : 0.5;
  }

  shedder_rig callee;
  int answered = 0;
  int arrivals = 0;

private:
  void call(follower& from, const call_info& c) {
    auto id = from.arrive(c);
    if (from.where(id) == place::below) {
      ++arrivals;
      auto there = callee.arrive(from.calls.at(id).call);
      if (callee.where(there) == place::below) {
        callee.finish(there);
        from.finish(id);
        ++answered;
      } else {
        from.finish(id, rejection_with(static_cast<std::uint16_t>(
                          callee.count("threshold") - 1)));
      }
    }
    from.calls.erase(id);
    callee.calls.clear();
  }

  std::vector<std::unique_ptr<follower>> callers_;
};

TEST(shedder_follow, keeps_the_threshold_of_the_callee_where_it_would_be) {
  chain alone{3, 0s};
  chain follows{3, 1s};
  int sent_alone = 0;
  int sent = 0;
  int ok_alone = 0;
  int ok = 0;
  for (int i = 0; i < 100; ++i) {
    alone.second(300, 100);
    follows.second(300, 100);
    if (i < 40)
      continue;
    sent_alone += alone.arrivals;
    sent += follows.arrivals;
    ok_alone += alone.answered;
    ok += follows.answered;
  }
  EXPECT_EQ(sent_alone, 60 * 300);
  EXPECT_LT(sent, 60 * 130);
  EXPECT_NEAR(ok_alone, 60 * 100, 60 * 8);
  EXPECT_NEAR(ok, 60 * 100, 60 * 8);
}

TEST(shedder_follow, comes_back_when_the_overload_is_over) {
  chain x{3, 1s};
  for (int i = 0; i < 60; ++i)
    x.second(600, 200);
  EXPECT_LT(x.answered, 260);
  int back = 0;
  for (; back < 300 && x.answered < 600; ++back)
    x.second(600, 1'000);
  // 1 % more each second: ln 3 / ln 1.01.
  EXPECT_NEAR(back, 110, 25);
}

} // namespace
} // namespace caisson::test
