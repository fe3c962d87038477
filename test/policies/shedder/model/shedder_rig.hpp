// Hosts of shedders, for tests of them.
#pragma once

#include <caisson/policies/shedder/shedder.hpp>
#include <caisson/policy/load_source.hpp>

#include <support/rig.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// A load that the test sets.
class set_load final : public load_source {
public:
  load_reading read(time_point, duration max_age) override {
    ++reads;
    last_max_age = max_age;
    if (fails)
      throw std::runtime_error{"no load today"};
    return value;
  }

  load_reading value = {.cpu = 0.0, .memory = 0.0};
  bool fails = false;
  int reads = 0;
  duration last_max_age = duration::zero();
};

/// CPU time alone is a signal.
inline shedder_config by_cpu() {
  shedder_config c;
  c.max_memory = 0;
  c.in_flight_factor = 0;
  return c;
}

/// How long calls take is the only signal.
inline shedder_config by_delay(duration d) {
  shedder_config c;
  c.max_cpu = 0;
  c.max_memory = 0;
  c.in_flight_factor = 0;
  c.max_delay = d;
  return c;
}

/// The mailbox's delay is the only signal.
inline shedder_config by_mailbox(duration d) {
  shedder_config c = by_delay(duration::zero());
  c.max_mailbox_delay = d;
  return c;
}

/// A call with that priority and key.
inline call_info important(std::int32_t priority, std::string key = {}) {
  call_info c;
  c.priority = priority;
  c.key = std::move(key);
  return c;
}

/// Hosts one shedder with a load that the test sets.
class shedder_rig : public rig<shedder> {
public:
  explicit shedder_rig(shedder_config c = by_cpu())
    : shedder_rig(std::move(c), std::make_shared<set_load>()) {}

  /// How many pass of so many calls, spread evenly over `length`.
  int offer_over(duration length, int n, const call_info& c = {}) {
    int passed = 0;
    auto begin = now();
    for (int i = 0; i < n; ++i) {
      passed += offer(c) ? 1 : 0;
      advance_to(begin + length * (i + 1) / n);
    }
    return passed;
  }

  [[nodiscard]] std::int64_t all_shed() const {
    return count("shed_cpu") + count("shed_memory") + count("shed_delay")
           + count("shed_in_flight") + count("shed_mailbox");
  }

  std::shared_ptr<set_load> load;

private:
  shedder_rig(shedder_config c, std::shared_ptr<set_load> x)
    : rig(std::move(c), std::shared_ptr<load_source>{x}), load(std::move(x)) {}
};

/// The first level of calls of priority 0.
inline constexpr std::uint16_t middle = 16 * 128;

/// Nothing is a signal but what the callee reports.
inline shedder_config followed() {
  shedder_config c;
  c.max_cpu = 0;
  c.max_memory = 0;
  c.in_flight_factor = 0;
  c.follow_for = std::chrono::seconds(1);
  return c;
}

/// A call with that user priority.
inline call_info of_user(std::uint8_t user, std::int32_t priority = 0) {
  call_info c;
  c.priority = priority;
  c.user_priority = user;
  return c;
}

/// A layer of the same gate has shed the call.
inline outcome shed_within(std::uint16_t threshold,
                           duration retry_after = std::chrono::seconds(1)) {
  auto o = outcome::failure(errc::shed, false, retry_after);
  o.threshold = threshold;
  return o;
}

/// The callee has shed the call.
inline outcome rejection_with(std::uint16_t threshold,
                              duration retry_after = std::chrono::seconds(1)) {
  // Shedders only look whether there is one.
  static constexpr char reply = 0;
  auto o = shed_within(threshold, retry_after);
  o.reply = &reply;
  return o;
}

/// A shedder whose callee reports a threshold.
class follower : public shedder_rig {
public:
  /// `before` calls have passed by now, the answers of which `hear` needs.
  explicit follower(shedder_config c = followed(), int before = 16)
    : shedder_rig(std::move(c)) {
    for (int i = 0; i < before; ++i)
      waiting_.push_back(arrive(of_user(128, 15)));
  }

  void on_threshold(std::uint16_t threshold,
                    duration retry_after = std::chrono::seconds(1)) {
    auto id = waiting_.back();
    waiting_.pop_back();
    finish(id, rejection_with(threshold, retry_after));
    calls.erase(id);
  }

  // For how many calls the next one stands, as its callee learns.
  int weight_of(const call_info& c) {
    auto id = arrive(c);
    auto n = calls.at(id).call.stands_for;
    if (where(id) == place::below)
      finish(id);
    return n;
  }

private:
  std::vector<call_id> waiting_;
};

} // namespace caisson::test
