// A model of a deadline layer that does not learn.
#pragma once

#include <caisson/policies/deadline/deadline.hpp>

#include <support/against_model.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace caisson::test {

/// A call with its deadlines.
struct limited_call : modelled_call {
  /// Above this layer, and as the layers below see it.
  time_point above{};
  time_point below{};
  /// This layer's limit; nothing if an earlier one is in force.
  std::optional<time_point> own = {};
  bool expired = false;
};

class deadline_model : public policy_model<deadline, limited_call> {
public:
  // `other`: the host finds the call's deadline passed.
  static constexpr step_shares shares{.arrive = 3,
                                      .end = 2,
                                      .abandon = 1,
                                      .advance = 1,
                                      .step_back = 1,
                                      .reconfigure = 1,
                                      .command = 0,
                                      .other = 2};

  explicit deadline_model(deadline_config c) : c_(std::move(c)) {}

  // -- what is drawn ----------------------------------------------------------

  static deadline_config any_settings() {
    using namespace std::chrono_literals;
    deadline_config c;
    c.timeout = any_of<duration>({1us, 1ms, 10ms, 1s, 365 * 24h});
    c.min_left = any_of<duration>({0ns, 1ns, c.timeout / 2, c.timeout});
    c.share = any_of({1.0, 0.5, 0.125, 0.001});
    c.least = std::min(c.timeout, any_of<duration>({1us, 1ms}));
    c.reserve = any_of<duration>({0ns, 0ns, 1ns, 1ms, 1h});
    return c;
  }

  call_info arrival(const operation& x, unsigned) const {
    using namespace std::chrono_literals;
    auto left = one_of<duration>(
      {unlimited, -1h, -1ns, 0ns, 1ns, 1us, 500us, 1ms, 10ms, 1h}, x.how);
    call_info call;
    call.deadline = left == unlimited ? never : now + left;
    call.default_deadline = x.which % 3 == 0;
    return call;
  }

  static duration length(const operation& x) {
    using namespace std::chrono_literals;
    return one_of<duration>({0ns, 1ns, 1us, 1ms, 10ms, 1s, 1h}, x.how);
  }

  // -- what happens -----------------------------------------------------------

  void arrive(call_id id, const call_info& call) {
    auto& x = calls[id];
    x.above = x.below = call.deadline;
    if (call.deadline <= now) {
      x.reject(errc::deadline_exceeded);
      ++count["expired_on_arrival"];
    } else if (auto gets = allowed(call);
               gets <= duration::zero() || gets < c_.min_left) {
      x.reject(errc::deadline_exceeded);
      ++count["too_little_left"];
    } else {
      ++count["admitted"];
      if (call.default_deadline || call.deadline == never
          || call.deadline - now > gets)
        x.own = x.below = now + gets;
    }
  }

  void finish(call_id id, const ending<>&) {
    auto& x = calls[id];
    // The layer's own limit has passed, and the host did not say so.
    if (!x.expired && x.own && now >= *x.own) {
      ++count["expired"];
      x.expired = true;
    }
    ++count[x.expired ? "overran" : "answered"];
    x.where = place::passed;
    x.below = x.above;
  }

  void abandon(call_id id, errc) {
    auto& x = calls[id];
    count["abandoned"] += !x.expired;
    x.below = x.above;
  }

  void reconfigure(const deadline_config& c) { c_ = c; }

  void other(const operation& op, rig& real) {
    std::vector<call_id> ids;
    for (const auto& [id, x] : calls)
      ids.push_back(id);
    if (ids.empty())
      return;
    auto id = pick(ids, op.which);
    auto enforced = op.how % 2 == 0;
    auto d = real.pass_deadline(id, enforced);
    RC_ASSERT(d.what == decision::kind::reject);
    RC_ASSERT(d.code == errc::deadline_exceeded);
    auto& x = calls[id];
    count["expired"] += !x.expired;
    x.expired = true;
    x.below = x.above;
    // In observe mode the call goes on as if nothing had happened.
    if (enforced)
      x.reject(errc::deadline_exceeded);
  }

  void check(const rig& real) const {
    for (const auto& [id, x] : calls)
      RC_ASSERT(real.calls.at(id).call.deadline == x.below);
  }

private:
  // How long a call may stay below.
  [[nodiscard]] duration allowed(const call_info& call) const {
    if (call.default_deadline || call.deadline == never)
      return c_.timeout;
    auto left = call.deadline - now;
    auto gets = std::min(left, c_.timeout);
    if (c_.share < 1) {
      auto part = duration{static_cast<std::int64_t>(
        static_cast<long double>(left.count()) * c_.share)};
      gets = std::min(gets, std::max({part, c_.least, c_.min_left}));
    }
    return std::min(gets, left - c_.reserve);
  }

  deadline_config c_;
};

} // namespace caisson::test
