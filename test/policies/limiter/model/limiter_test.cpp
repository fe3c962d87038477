#include <policies/limiter/model/limiter_model.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

RC_GTEST_PROP(limiter_property, does_as_its_model_does, ()) {
  check_against_model<limiter_model>();
}

// -- windows ------------------------------------------------------------------

// How many tokens come in within `t`; `grain` is added before rounding down.
std::int64_t flow(const limiter_config& c, duration t, std::int64_t grain = 0) {
  __extension__ using wide = __int128;
  return static_cast<std::int64_t>((wide{t.count()} * c.rate + grain)
                                   / c.per.count());
}

// What was sold and what was given back, with its time.
struct sale {
  duration at;
  std::int64_t tokens;
};

rc::Gen<limiter_config> any_limiter() {
  return rc::gen::map(
    rc::gen::tuple(
      rc::gen::element<std::int64_t>(1, 3, 7, 10, 999, 1000, 1'000'000'000),
      rc::gen::element<std::int64_t>(1000, 1'000'000, 1'000'000'000,
                                     60'000'000'000),
      rc::gen::element<std::uint32_t>(1, 1, 2, 5, 100, 1'000'000),
      rc::gen::element<std::int64_t>(0, 1, 5, 1000)),
    [](const auto& x) {
      auto [rate, per, burst, intervals] = x;
      limiter_config c;
      c.rate = std::min(rate, per);
      c.per = duration{per};
      c.burst = burst;
      c.max_wait = c.per / c.rate * intervals;
      return c;
    });
}

// Moves the clock and notes each call on its way down at its own instant.
class ledger {
public:
  explicit ledger(limiter_config c) : h(std::move(c)) {}

  void arrive(std::uint32_t permits) {
    call_info f;
    f.permits = permits;
    auto id = h.arrive(f);
    note();
    if (h.where(id) == place::held)
      held.push_back(id);
  }

  void advance(duration d) {
    auto end = h.now() + d;
    for (;;) {
      auto next = h.policy.wakeup();
      auto step = next == never ? end
                                : std::min(end, next - limiter_rig::start());
      h.advance_to(step);
      note();
      if (step == end)
        return;
    }
  }

  void give_up(int n) {
    std::erase_if(held, [this](auto id) { return h.where(id) != place::held; });
    if (held.empty())
      return;
    h.abandon(held[static_cast<std::size_t>(n) % held.size()]);
    note();
  }

  void come_back(int n) {
    if (below.empty())
      return;
    auto i = below.begin() + static_cast<std::ptrdiff_t>(n) % std::ssize(below);
    auto id = *i;
    below.erase(i);
    auto before = h.count("tokens");
    if (n % 2 == 0) {
      h.finish(id);
    } else {
      returns.push_back({h.now(), h.calls.at(id).call.permits});
      h.fail(id, errc::queue_full, false);
      // What is above the burst is lost.
      RC_ASSERT(h.count("tokens")
                <= std::max<std::int64_t>(before, h.policy.config().burst));
    }
    note();
  }

  limiter_rig h;
  std::vector<sale> sales;
  std::vector<sale> returns;

private:
  // Calls are noted in the order of their ids, which is that of their turns.
  void note() {
    for (auto i = h.calls.upper_bound(noted); i != h.calls.end(); ++i) {
      if (i->second.where == place::held)
        return;
      noted = i->first;
      if (i->second.descents == 1) {
        sales.push_back({h.now(), i->second.call.permits});
        below.push_back(noted);
      }
    }
  }

  call_id noted = 0;
  std::vector<call_id> held;
  std::vector<call_id> below;
};

void check_windows(const ledger& l) {
  auto& c = l.h.policy.config();
  // Time is whole nanoseconds: a token that is due between two of them is sold
  // at the second, so a window may show up to one nanosecond's worth more.
  auto grain = c.per.count() % c.rate == 0 ? 0 : c.rate - 1;
  for (std::size_t i = 0; i < l.sales.size(); ++i) {
    std::int64_t sold = 0;
    for (auto j = i; j < l.sales.size(); ++j) {
      sold += l.sales[j].tokens;
      auto s = l.sales[i].at;
      auto t = l.sales[j].at;
      std::int64_t returned = 0;
      for (auto& r : l.returns)
        if (r.at >= s && r.at <= t)
          returned += r.tokens;
      RC_ASSERT(sold <= c.burst + flow(c, t - s, grain) + returned);
    }
  }
}

void play(ledger& l, bool with_returns) {
  auto& c = l.h.policy.config();
  auto interval = c.per / c.rate;
  auto heaviest = std::min<std::uint32_t>(c.burst, 4);
  auto ops = *any_steps(100, 10, 3);
  for (auto [what, n, m] : ops) {
    if (what < 5)
      l.arrive(m == 0 ? 1 + static_cast<std::uint32_t>(n) % heaviest : 1);
    else if (what < 6)
      l.give_up(n);
    else if (what < 8 && with_returns)
      l.come_back(n);
    else
      l.advance(m == 0 ? duration{n % 3} : interval * n / 500 + duration{m});
  }
}

RC_GTEST_PROP(limiter_property,
              sells_at_most_burst_and_rate_times_time_in_any_window, ()) {
  ledger l{*any_limiter()};
  play(l, false);
  check_windows(l);
}

RC_GTEST_PROP(limiter_property, sells_again_only_what_came_back, ()) {
  ledger l{*any_limiter()};
  play(l, true);
  check_windows(l);
}

RC_GTEST_PROP(limiter_property, loses_nothing_while_calls_are_at_hand, ()) {
  auto config = *any_limiter();
  config.burst = std::min(config.burst, 1000u);
  config.max_wait = unlimited;
  limiter_rig h{config};
  auto n = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, 300));
  for (int i = 0; i < static_cast<int>(config.burst) + n; ++i)
    h.arrive();
  // The instant of the n-th token after the burst, and the one before it.
  auto per = config.per.count();
  auto at = (static_cast<std::int64_t>(n) * per + config.rate - 1)
            / config.rate;
  auto sold = [&] { return h.count("passed") + h.count("granted"); };
  h.advance_to(duration{at - 1});
  RC_ASSERT(sold() == config.burst + flow(config, duration{at - 1}));
  RC_ASSERT(sold() < config.burst + n);
  h.advance_to(duration{at});
  RC_ASSERT(sold() == config.burst + n);
}

} // namespace
} // namespace caisson::test
