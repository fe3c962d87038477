// Faults of a service, by the times at which they begin and end.
#pragma once

#include <simulator/world/counted_fault.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/world_context.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace caisson::sim {

/// The faults that hit one replica of a service, by time or by the number of
/// requests that arrive. What they do is for others to know.
class service_faults {
public:
  /// A fault begins, or ends.
  using effect = std::function<void(const fault_config& f, bool begins)>;

  /// Timers that are those of faults have one of these bits.
  static constexpr std::uint64_t timer_bits = std::uint64_t{3} << 61;

  /// All references must outlive this.
  service_faults(const world_context& world, std::size_t instance,
                 timed_actor::timers& timers);

  /// The world begins. To be called before any other timer is set, so that a
  /// fault is the first thing to happen at its instant.
  void start(time_point now);

  /// Whether one changes the speed of work in progress.
  [[nodiscard]] bool change_speed() const;

  /// Whether one counts the requests that arrive.
  [[nodiscard]] bool count_requests() const noexcept {
    return !counting_.empty();
  }

  /// A timer of a fault is due.
  void is_due(std::uint64_t payload, duration at, const effect& act);

  /// To be called before a request that arrives is looked at. Returns whether
  /// a fault has begun or ended.
  bool request(duration at, const effect& act);

private:
  static constexpr std::uint64_t begin = std::uint64_t{1} << 62;
  static constexpr std::uint64_t end = std::uint64_t{1} << 61;

  // A fault that counts requests.
  struct counting {
    counted_fault fault;
    /// Its place in the arm, and in `faults_`.
    std::size_t index = 0;
    std::size_t place = 0;
    /// The number of the one that lasts.
    std::uint64_t number = 0;
  };

  [[nodiscard]] bool is_hit_by(const fault_config& f) const;
  [[nodiscard]] bool may_begin(const counting& c) const;
  void change(counting& c, const counted_fault::change& x, duration at,
              const effect& act);
  void plan_change(const counting& c);

  world_context world_;
  std::uint32_t service_;
  std::uint32_t replica_;
  timed_actor::timers& timers_;
  time_point begin_;
  /// Timers name them by their index.
  std::vector<const fault_config*> faults_;
  std::vector<counting> counting_;
};

} // namespace caisson::sim
