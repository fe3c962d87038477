#include <policies/limiter/model/reserving_rig.hpp>
#include <support/operations.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace caisson::test {
namespace {

__extension__ using wide_ns = __int128;

// A start of work, and how many tokens it takes.
struct start_note {
  duration at;
  std::int64_t tokens;
};

rc::Gen<limiter_config> any_reserving_limiter() {
  using enum rate_algorithm;
  return rc::gen::apply(
    [](rate_algorithm algorithm, std::int64_t rate, std::int64_t per,
       std::uint32_t burst, duration wait) {
      limiter_config c;
      c.algorithm = algorithm;
      c.rate = rate;
      c.per = duration{per};
      if (algorithm == token_bucket)
        c.burst = burst;
      c.max_wait = wait;
      return c;
    },
    rc::gen::element(token_bucket, token_bucket, fixed_window, sliding_window,
                     leaky_bucket),
    rc::gen::element<std::int64_t>(1, 3, 7, 10),
    rc::gen::element<std::int64_t>(1000, 1001, 7000),
    rc::gen::element<std::uint32_t>(1, 2, 3, 5),
    rc::gen::element(duration{0}, duration{2000}, unlimited));
}

// Plays calls and reservations, and notes when the work of each begins.
class reserving_ledger {
public:
  explicit reserving_ledger(const limiter_config& c) : h(c) {}

  std::uint32_t weight(int n) const {
    auto& c = h.policy.config();
    auto most = c.algorithm == rate_algorithm::token_bucket
                  ? std::int64_t{c.burst}
                  : c.rate;
    return static_cast<std::uint32_t>(1 + n % std::min<std::int64_t>(most, 3));
  }

  void reserve(const reservation_times& x) {
    auto p = h.reserve(x);
    if (!p.is_granted)
      return;
    starts[p.id] = {p.turn, x.permits};
    if (p.turn > h.now())
      open.push_back(p);
  }

  // Gives one back whose turn has not come.
  void give_back(int n, bool cut_off) {
    std::erase_if(open, [&](auto& p) { return p.turn <= h.now(); });
    if (open.empty())
      return;
    auto i = open.begin() + n % std::ssize(open);
    cut_off ? h.abandon(i->id) : h.release(*i);
    // Those who wait are woken for that.
    h.advance_to(h.now());
    starts.erase(i->id);
    open.erase(i);
    note();
  }

  void arrive(std::uint32_t permits) {
    h.arrive(heavy(permits));
    note();
  }

  void give_up(int n) {
    std::vector<call_id> held;
    for (auto& [id, x] : h.calls)
      if (x.where == place::held)
        held.push_back(id);
    if (!held.empty())
      h.abandon(held[static_cast<std::size_t>(n) % held.size()]);
    note();
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

  std::vector<start_note> sorted() const {
    std::vector<start_note> out;
    for (auto& [id, x] : starts)
      out.push_back(x);
    std::stable_sort(out.begin(), out.end(),
                     [](auto& a, auto& b) { return a.at < b.at; });
    return out;
  }

  reserving_rig h;
  std::vector<reserving_rig::promise> open;
  std::map<call_id, start_note> starts;

private:
  void note() {
    for (auto& [id, x] : h.calls)
      if (x.descents == 1 && !starts.contains(id))
        starts[id] = {h.now(), x.call.permits};
  }
};

void play(reserving_ledger& l, bool gives_back) {
  auto interval = l.h.policy.config().per / l.h.policy.config().rate;
  for (auto [what, n, m] : *any_steps(60, 12, 5)) {
    auto weight = l.weight(n);
    if (what < 5) {
      reservation_times x{.permits = weight};
      if (m == 0)
        x.max_wait = interval * (n % 5);
      if (m == 1)
        x.earliest = l.h.now() + interval * (n % 7) / 2;
      if (m == 2)
        x.deadline = l.h.now() + interval * (n % 9);
      l.reserve(x);
    } else if (what < 7) {
      l.arrive(weight);
    } else if (what < 9) {
      if (gives_back)
        l.give_back(n, m == 0);
    } else if (what < 10) {
      l.give_up(n);
    } else {
      l.advance(m == 0 ? duration{n % 3} : interval * n / 300 + duration{m});
    }
  }
}

// In any window, by definition.
void check_bucket(const limiter_config& c, const std::vector<start_note>& xs) {
  for (std::size_t i = 0; i < xs.size(); ++i) {
    std::int64_t sold = 0;
    for (auto j = i; j < xs.size(); ++j) {
      sold += xs[j].tokens;
      auto t = (xs[j].at - xs[i].at).count();
      auto grain = c.per.count() % c.rate == 0 ? 0 : c.rate - 1;
      auto flow = (wide_ns{t} * c.rate + grain) / c.per.count();
      RC_ASSERT(sold <= c.burst + static_cast<std::int64_t>(flow));
    }
  }
}

void check_spacing(const limiter_config& c, const std::vector<start_note>& xs) {
  for (std::size_t i = 1; i < xs.size(); ++i) {
    auto gap = wide_ns{(xs[i].at - xs[i - 1].at).count()} * c.rate;
    // Less than a nanosecond too early, which is not seen.
    RC_ASSERT(gap + c.rate > wide_ns{xs[i - 1].tokens} * c.per.count());
  }
}

// Windows follow the instant of the first call.
void check_fixed_windows(const limiter_config& c, duration first,
                         const std::vector<start_note>& xs) {
  std::map<std::int64_t, std::int64_t> sold;
  for (auto& x : xs)
    RC_ASSERT((sold[(x.at - first) / c.per] += x.tokens) <= c.rate);
}

void check_sliding_windows(const limiter_config& c, duration first,
                           const std::vector<start_note>& xs) {
  std::map<std::int64_t, std::int64_t> sold;
  for (auto& x : xs) {
    auto window = (x.at - first) / c.per;
    auto into = (x.at - first) % c.per;
    sold[window] += x.tokens;
    auto before = wide_ns{sold[window - 1]} * (c.per - into).count();
    RC_ASSERT(before + wide_ns{sold[window]} * c.per.count()
              <= wide_ns{c.rate} * c.per.count());
  }
}

void check_starts(const reserving_ledger& l) {
  auto& c = l.h.policy.config();
  auto xs = l.sorted();
  switch (c.algorithm) {
    case rate_algorithm::token_bucket:
      return check_bucket(c, xs);
    case rate_algorithm::leaky_bucket:
      return check_spacing(c, xs);
    case rate_algorithm::fixed_window:
      return check_fixed_windows(c, duration{0}, xs);
    default:
      return check_sliding_windows(c, duration{0}, xs);
  }
}

RC_GTEST_PROP(limiter_reservations_property,
              no_more_work_begins_than_the_algorithm_allows, ()) {
  reserving_ledger l{*any_reserving_limiter()};
  // Windows begin now.
  l.h.policy.wake(l.h.e);
  play(l, true);
  check_starts(l);
  // All that were promised come, and the gauge agrees.
  l.advance(1ms);
  l.h.policy.wake(l.h.e);
  RC_ASSERT(l.h.count("promised") == 0);
  check_starts(l);
}

RC_GTEST_PROP(limiter_reservations_property,
              promises_the_turn_that_a_waiting_call_has, ()) {
  auto config = *any_reserving_limiter();
  config.max_wait = unlimited;
  // In windows, a light one can fit before a heavy one that was promised.
  auto mixed = config.algorithm == rate_algorithm::token_bucket
               || config.algorithm == rate_algorithm::leaky_bucket;
  reserving_ledger promising{config};
  reserving_ledger waiting{config};
  std::map<call_id, call_id> twins;
  call_id arrived = 0;
  for (auto [what, n, m] : *any_steps(40, 10, 5)) {
    if (what < 7) {
      auto weight = mixed ? promising.weight(n) : 1;
      auto p = promising.h.reserve({.permits = weight});
      RC_ASSERT(p.is_granted);
      promising.starts[p.id] = {p.turn, weight};
      twins[p.id] = ++arrived;
      waiting.arrive(weight);
    } else {
      auto d = config.per / config.rate * n / 300 + duration{m};
      promising.advance(d);
      waiting.advance(d);
    }
  }
  waiting.advance(1ms);
  for (auto [id, twin] : twins) {
    RC_ASSERT(waiting.starts.contains(twin));
    RC_ASSERT(promising.starts[id].at == waiting.starts[twin].at);
  }
}

// A refused request says when an equal one would be served at once.
RC_GTEST_PROP(limiter_reservations_property, says_when_to_come_again, ()) {
  auto config = *any_reserving_limiter();
  config.max_wait = unlimited;
  reserving_ledger l{config};
  play(l, true);
  auto weight = l.weight(*rc::gen::inRange(0, 3));
  auto refused = l.h.reserve({.permits = weight, .max_wait = duration{0}});
  if (refused.is_granted)
    return;
  RC_ASSERT(refused.retry_after > duration{0});
  auto at = l.h.now() + refused.retry_after;
  l.advance(refused.retry_after - duration{1});
  RC_ASSERT(
    !l.h.reserve({.permits = weight, .max_wait = duration{0}}).is_granted);
  l.advance(duration{1});
  RC_ASSERT(l.h.reserve({.permits = weight, .max_wait = duration{0}}).turn
            == at);
}

} // namespace
} // namespace caisson::test
