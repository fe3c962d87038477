// Effect of the present faults on a service.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// The faults that last. Where some of a kind overlap, slow ones multiply,
/// error rates add up as independent chances do, and the smallest capacity
/// counts.
class fault_state {
public:
  /// `initial`: how many servers the service has without a fault.
  explicit fault_state(std::uint32_t initial)
    : all_servers_(initial), servers_(initial) {}

  /// `f` begins. It must live until its end.
  void begin(const fault_config& f);

  /// `f`, which has begun, ends.
  void end(const fault_config& f);

  [[nodiscard]] bool stalled() const noexcept { return stalls_ > 0; }
  [[nodiscard]] bool crashed() const noexcept { return crashes_ > 0; }

  /// The service has so many servers without a fault from now on.
  void set_servers(std::uint32_t n);

  /// How many servers there are.
  [[nodiscard]] std::uint32_t servers() const noexcept { return servers_; }

  /// How many times as long work takes that begins.
  [[nodiscard]] double factor() const noexcept { return factor_; }

  /// How many times as long all work takes, also that in progress; infinite if
  /// it stands still.
  [[nodiscard]] double stretch() const noexcept;

  /// With which probability a request fails because of a fault.
  [[nodiscard]] double error_rate() const noexcept { return error_rate_; }

private:
  void combine();

  std::uint32_t all_servers_;
  std::vector<const fault_config*> active_;
  std::uint32_t servers_;
  unsigned stalls_ = 0;
  unsigned pauses_ = 0;
  unsigned crashes_ = 0;
  double factor_ = 1;
  double stretch_ = 1;
  double error_rate_ = 0;
};

} // namespace caisson::sim
