// The users of the simulated world.
#pragma once

#include <simulator/world/arrivals.hpp>
#include <simulator/world/ending.hpp>
#include <simulator/world/popularity.hpp>
#include <simulator/world/slot_table.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/world_context.hpp>

#include <caisson/policy/schedule.hpp>

#include <optional>
#include <vector>

namespace caisson::sim {

/// Makes the requests of one load. Each attempt is a call with a deadline
/// through the gate of its route. A request ends with the first success, or
/// with the failure of its last attempt. Of all that happens at an instant the
/// client comes last: first its timeouts, then its new requests.
class client final : public timed_actor {
public:
  client(caf::actor_config& cfg, const world_context& world, std::size_t load);

  const char* name() const override { return "caisson.sim.client"; }

protected:
  void start() override;
  void handle(portable::reply_to from, caf::message content) override;
  void handle_answer(std::uint64_t key, caf::message content) override;
  void handle_cancelled(const caf::strong_actor_ptr&, std::uint64_t) override {}
  void fire(std::uint64_t payload) override;

private:
  struct request {
    std::uint64_t number = 0;
    draw_key key{0};
    const planned_target* target = nullptr;
    time_point begun;
    /// From 1 on; 0 for none.
    std::uint32_t call_key = 0;
    /// How long each attempt is waited for.
    duration patience = unlimited;
    std::uint32_t attempt = 0;
    schedule::cursor pause;
    /// The attempt in flight, as a key of `attempts_`, and its timeout.
    std::uint64_t current_attempt = 0;
    timers::handle timeout;
    /// In a closed loop: whose request it is.
    std::uint32_t user = 0;
  };

  // What a timer is for, beside a number: a user who thinks, a request whose
  // attempt has timed out, one whose pause is over, or the next arrival.
  static constexpr std::uint64_t arrival = 0;
  static constexpr std::uint64_t user_bit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t timeout_bit = std::uint64_t{1} << 61;
  static constexpr std::uint64_t pause_bit = std::uint64_t{1} << 60;
  static constexpr std::uint64_t bits = user_bit | timeout_bit | pause_bit;

  void plan_arrival();
  void think(std::uint32_t user, bool at_once);
  void begin(std::uint32_t user, std::uint64_t round);
  void attempt(std::uint64_t key, request& r);
  void attempt_over(std::uint64_t key, request& r, ending how,
                    bool substituted);
  [[nodiscard]] std::optional<duration> pause_before_next(request& r,
                                                          ending how);
  [[nodiscard]] duration patience_of(draw_key key) const;
  [[nodiscard]] const planned_target& pick(draw_key key) const;

  world_context world_;
  std::size_t load_;
  const load_config& config_;
  time_point begin_;
  arrival_times arrivals_;
  random_source jitter_;
  /// Nothing if the requests have no keys.
  std::optional<popularity> keys_;
  slot_table<request> requests_;
  /// By attempt: its request. An entry stays until the attempt is answered,
  /// also when its request has not waited for that.
  slot_table<std::uint64_t> attempts_;
  std::uint64_t rounds_begun_ = 0;
  /// How many requests each user of a closed loop has made.
  std::vector<std::uint64_t> rounds_;
};

} // namespace caisson::sim
