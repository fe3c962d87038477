#include <caisson/policies/fallback.hpp>

#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct fallback_sample {
  outcome result;
  // What the fallback makes of it: answered, to be answered by another, or
  // nothing that another could do better.
  enum { good, bad, final } meaning;
};

const std::vector<fallback_sample> fallback_samples{
  {outcome::success(), fallback_sample::good},
  {outcome::failure(errc::worker_down, true), fallback_sample::bad},
  {outcome::failure(errc::worker_down, false), fallback_sample::bad},
  {outcome::failure(errc::breaker_open, false, 1s), fallback_sample::bad},
  {outcome::failure(errc::shed, false), fallback_sample::bad},
  {outcome::failure(errc::deadline_exceeded, true), fallback_sample::bad},
  {outcome::failure(errc::cancelled, true), fallback_sample::final},
  {outcome::failure(errc::draining, false), fallback_sample::final},
};

class fallback_run {
public:
  fallback_run(std::vector<std::uint32_t> limits,
               std::vector<alternative_kind> chain)
    : limits_(std::move(limits)), real_(config(limits_.front()), chain),
      limit_(limits_.front()), chain_(std::move(chain)) {}

  void step(const operation& op) {
    switch (op.kind) {
      case 0:
      case 1:
      case 2:
        arrive(pick(lefts, op.how));
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        if (auto id = some_call(op.which))
          finish(id, pick(fallback_samples, op.how));
        break;
      case 7:
        if (auto id = some_call(op.which)) {
          ++count_[calls_[id].tried.empty() ? "abandoned"
                                            : "abandoned_in_fallback"];
          calls_[id].where = place::abandoned;
          real_.abandon(id);
        }
        break;
      case 8:
        real_.advance(pick(steps, op.how));
        break;
      case 9:
        real_.set_clock(real_.now() - pick(steps, op.how));
        break;
      case 10:
        limit_ = pick(limits_, op.which);
        real_.policy.reconfigure(config(limit_), real_.e);
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 4> steps{0ns, 1ns, 5ms, 1s};
  static constexpr std::array<duration, 5> lefts{unlimited, unlimited, 0ns, 5ms,
                                                 1s};

  // What the model knows of a call.
  struct call {
    place where = place::below;
    time_point deadline;
    // The alternatives that were asked, in order.
    std::vector<std::uint64_t> tried;
    bool may_have_executed = false;
  };

  static fallback_config config(std::uint32_t limit) {
    fallback_config c;
    c.max_concurrent = limit;
    return c;
  }

  void arrive(duration left) {
    call_info f;
    f.deadline = time_after(real_.e.now, left);
    calls_[real_.arrive(f)].deadline = f.deadline;
    ++count_["calls"];
  }

  void finish(call_id id, const fallback_sample& s) {
    auto& x = calls_[id];
    auto busy = running();
    auto first = x.tried.empty();
    auto from = first ? 0 : x.tried.back() + 1;
    auto next = next_for(id, from, busy);
    real_.finish(id, s.result);
    x.may_have_executed = x.may_have_executed || s.result.may_have_executed;
    std::string what;
    if (s.meaning == fallback_sample::good)
      what = first ? "primary_answered" : "answered_by_alternative";
    else if (s.meaning == fallback_sample::final)
      what = "passed_up";
    else if (from == chain_.size())
      what = "all_failed";
    else if (x.deadline <= real_.e.now)
      what = "out_of_time";
    else if (next == chain_.size())
      what = "fallback_full";
    else
      what = first ? "fell_back" : "tried_next";
    ++count_[what];
    if (what == "fell_back" || what == "tried_next") {
      x.where = place::redirected;
      x.tried.push_back(next);
      count_["passed_over"] += next != from;
      return;
    }
    x.where = place::passed;
    auto& up = real_.calls.at(id).result;
    RC_ASSERT(up.ok == s.result.ok);
    RC_ASSERT(up.code == s.result.code);
    RC_ASSERT(up.retry_after == s.result.retry_after);
    RC_ASSERT(up.may_have_executed == x.may_have_executed);
  }

  bool with_actor(const call& x) const {
    return x.where == place::redirected
           && chain_[x.tried.back()] == alternative_kind::actor;
  }

  // How many calls are with actors.
  std::size_t running() const {
    std::size_t n = 0;
    for (auto& [id, x] : calls_)
      n += with_actor(x);
    return n;
  }

  std::size_t next_for(call_id id, std::size_t from, std::size_t busy) const {
    for (auto i = from; i < chain_.size(); ++i)
      if (chain_[i] == alternative_kind::value || with_actor(calls_.at(id))
          || limit_ == 0 || busy < limit_)
        return i;
    return chain_.size();
  }

  call_id some_call(unsigned which) {
    std::vector<call_id> ids;
    for (auto& [id, x] : calls_)
      if (x.where == place::below || x.where == place::redirected)
        ids.push_back(id);
    return ids.empty() ? 0 : pick(ids, which);
  }

  void compare() {
    std::int64_t live = 0;
    for (auto& [id, x] : calls_) {
      RC_ASSERT(real_.where(id) == x.where);
      if (x.where == place::redirected)
        RC_ASSERT(real_.calls.at(id).index == x.tried.back());
      live += x.where == place::below || x.where == place::redirected;
    }
    std::vector<metric> ms;
    real_.policy.list_metrics(ms);
    std::map<std::string_view, std::int64_t> got;
    for (auto& m : ms) {
      got[m.name] = m.value;
      if (!m.gauge)
        RC_ASSERT(m.value == count_[std::string{m.name}]);
    }
    RC_ASSERT(got["running"] == static_cast<std::int64_t>(running()));
    // Every call ends exactly once.
    std::int64_t ended = 0;
    for (auto name : {"primary_answered", "answered_by_alternative",
                      "passed_up", "all_failed", "out_of_time", "fallback_full",
                      "abandoned", "abandoned_in_fallback"})
      ended += got[name];
    RC_ASSERT(got["calls"] == ended + live);
  }

  std::vector<std::uint32_t> limits_;
  solo<fallback> real_;
  std::uint32_t limit_;
  std::vector<alternative_kind> chain_;
  std::map<call_id, call> calls_;
  std::map<std::string, std::int64_t> count_;
};

RC_GTEST_PROP(fallback, agrees_with_the_naive_one, ()) {
  auto limit = [] {
    return *rc::gen::element<std::uint32_t>(0, 1, 2, 1'000'000);
  };
  std::vector<alternative_kind> chain;
  for (auto n = *rc::gen::element<std::size_t>(1, 2, 5); n > 0; --n)
    chain.push_back(*rc::gen::element(alternative_kind::value,
                                      alternative_kind::actor,
                                      alternative_kind::actor));
  fallback_run r{{limit(), limit(), limit()}, std::move(chain)};
  for (auto& op : *operations(11))
    r.step(op);
}

} // namespace
} // namespace caisson::test
