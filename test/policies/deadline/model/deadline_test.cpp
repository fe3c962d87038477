#include <caisson/policies/deadline/deadline.hpp>

#include <support/operations.hpp>
#include <support/solo.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

deadline_config some_deadline() {
  deadline_config c;
  c.timeout = *rc::gen::element<duration>(1us, 1ms, 10ms, 1s, 365 * 24h);
  c.min_left = *rc::gen::element<duration>(0ns, 1ns, c.timeout / 2, c.timeout);
  c.share = *rc::gen::element(1.0, 0.5, 0.125, 0.001);
  c.least = std::min(c.timeout, *rc::gen::element<duration>(1us, 1ms));
  c.reserve = *rc::gen::element<duration>(0ns, 0ns, 1ns, 1ms, 1h);
  return c;
}

class deadline_run {
public:
  explicit deadline_run(std::vector<deadline_config> cs)
    : configs_(std::move(cs)), real_(configs_.front()),
      config_(configs_.front()) {}

  void step(const operation& op) {
    switch (op.kind) {
      case 0:
      case 1:
      case 2:
        arrive(pick(lefts, op.how), op.which % 3 == 0);
        break;
      case 3:
      case 4:
        if (auto id = some_call(op.which))
          finish(id, op.how % 2 == 0);
        break;
      case 5:
        if (auto id = some_call(op.which))
          abandon(id);
        break;
      case 6:
      case 7:
        if (auto id = some_call(op.which))
          expire(id, op.how % 2 == 0);
        break;
      case 8:
        real_.e.now += pick(steps, op.how);
        break;
      case 9:
        real_.e.now -= pick(steps, op.how);
        break;
      case 10:
        config_ = pick(configs_, op.which);
        real_.policy.reconfigure(config_, real_.e);
        break;
    }
    compare();
  }

private:
  static constexpr std::array<duration, 7> steps{0ns,  1ns, 1us, 1ms,
                                                 10ms, 1s,  1h};
  static constexpr std::array<duration, 10> lefts{
    unlimited, -1h, -1ns, 0ns, 1ns, 1us, 500us, 1ms, 10ms, 1h};

  // What the model knows of a call.
  struct call {
    place where = place::below;
    // Deadline above this layer, and the one that layers below see.
    time_point above;
    time_point below;
    // This layer's limit; nothing if an earlier one is in force.
    std::optional<time_point> own;
    bool expired = false;
  };

  void arrive(duration left, bool by_default) {
    call_info f;
    f.deadline = left == unlimited ? never : real_.e.now + left;
    f.default_deadline = by_default;
    auto& x = calls_[real_.arrive(f)];
    x.above = x.below = f.deadline;
    auto now = real_.e.now;
    if (f.deadline <= now) {
      x.where = place::rejected;
      ++count_["expired_on_arrival"];
    } else if (auto gets = allowed(f, now);
               gets <= 0ns || gets < config_.min_left) {
      x.where = place::rejected;
      ++count_["too_little_left"];
    } else {
      ++count_["admitted"];
      if (by_default || f.deadline == never || f.deadline - now > gets)
        x.own = x.below = now + gets;
    }
  }

  // How long a call may stay below.
  duration allowed(const call_info& f, time_point now) const {
    if (f.default_deadline || f.deadline == never)
      return config_.timeout;
    auto left = f.deadline - now;
    auto gets = std::min(left, config_.timeout);
    if (config_.share < 1) {
      auto part = duration{static_cast<std::int64_t>(
        static_cast<long double>(left.count()) * config_.share)};
      if (part < config_.least)
        part = config_.least;
      if (part < config_.min_left)
        part = config_.min_left;
      gets = std::min(gets, part);
    }
    return std::min(gets, left - config_.reserve);
  }

  void finish(call_id id, bool ok) {
    auto& x = calls_[id];
    auto o = ok ? outcome::success() : outcome::failure(errc::shed, true, 1s);
    real_.finish(id, o);
    RC_ASSERT(real_.calls.at(id).result.ok == ok);
    RC_ASSERT(real_.calls.at(id).result.retry_after == o.retry_after);
    // The layer's own limit has passed, and the host did not say so.
    if (!x.expired && x.own && real_.e.now >= *x.own) {
      ++count_["expired"];
      x.expired = true;
    }
    ++count_[x.expired ? "overran" : "answered"];
    x.where = place::passed;
    x.below = x.above;
  }

  void abandon(call_id id) {
    auto& x = calls_[id];
    real_.abandon(id);
    count_["abandoned"] += !x.expired;
    x.where = place::abandoned;
    x.below = x.above;
  }

  void expire(call_id id, bool enforced) {
    auto& x = calls_[id];
    auto d = real_.pass_deadline(id, enforced);
    RC_ASSERT(d.what == decision::kind::reject);
    RC_ASSERT(d.code == errc::deadline_exceeded);
    count_["expired"] += !x.expired;
    x.expired = true;
    x.below = x.above;
    // In observe mode the call goes on as if nothing had happened.
    if (enforced)
      x.where = place::rejected;
  }

  call_id some_call(unsigned which) {
    std::vector<call_id> ids;
    for (auto& [id, x] : calls_)
      if (x.where == place::below)
        ids.push_back(id);
    return ids.empty() ? 0 : pick(ids, which);
  }

  void compare() {
    for (auto& [id, x] : calls_) {
      RC_ASSERT(real_.where(id) == x.where);
      RC_ASSERT(real_.calls.at(id).call.deadline == x.below);
    }
    std::vector<metric> ms;
    real_.policy.list_metrics(ms);
    RC_ASSERT(ms.size() == 7u);
    for (auto& m : ms)
      RC_ASSERT(m.value == count_[std::string{m.name}]);
  }

  std::vector<deadline_config> configs_;
  solo<deadline> real_;
  deadline_config config_;
  std::map<call_id, call> calls_;
  std::map<std::string, std::int64_t> count_;
};

RC_GTEST_PROP(deadline, agrees_with_the_naive_one, ()) {
  deadline_run r{{some_deadline(), some_deadline(), some_deadline()}};
  for (auto& op : *operations(11))
    r.step(op);
}

RC_GTEST_PROP(deadline, nests_in_any_order, ()) {
  // A stack of deadlines that go by their timeouts: the layers below see the
  // earliest, with or without a default in place of the caller's.
  std::vector<deadline> layers;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    auto c = some_deadline();
    c.min_left = c.reserve = 0ns;
    c.share = 1;
    layers.emplace_back(c);
  }
  std::vector<slot> notes(layers.size());
  random_source random;
  env e{solo<deadline>::start(), random};
  call_info call;
  call.default_deadline = *rc::gen::arbitrary<bool>();
  if (call.default_deadline)
    call.deadline = e.now + 30s;
  auto earliest = never;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    e.now += 1ns;
    RC_ASSERT(layers[i].admit(call, notes[i], e).what == decision::kind::pass);
    earliest = std::min(earliest, e.now + layers[i].config().timeout);
    RC_ASSERT(call.deadline == earliest);
    RC_ASSERT(!call.default_deadline);
  }
  // Whatever happens on the way back, the deadline is the host's.
  for (auto i = layers.size(); i-- > 0;) {
    auto o = outcome::success();
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        layers[i].complete(call, notes[i], o, e);
        break;
      case 1:
        layers[i].abandon(call, notes[i], o, true, e);
        break;
      case 2:
        layers[i].deadline_passed(call, notes[i], e);
        break;
    }
    RC_ASSERT(call.deadline == earliest);
  }
}

} // namespace
} // namespace caisson::test
