// Clock of work whose speed changes while it is in progress.
#pragma once

#include <simulator/scenario/count_value.hpp>

#include <caisson/base/time.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace caisson::sim {

/// Work that shares a number of cores evenly (processor sharing): of n pieces
/// each proceeds at min(1, cores / n) of full speed, divided by a stretch for
/// all of them that may change at any time.
///
/// Since all pieces proceed at the same speed, there is one clock of the work
/// done by each of them: a piece of length w that begins when it shows v has
/// ended when it shows v + w, however the speed changes until then. So nothing
/// needs to be looked at but the piece that ends first. Each operation takes
/// time logarithmic in the number of pieces.
///
/// A piece ends at the nanosecond nearest to its end. Errors do not add up: the
/// clock itself is not rounded, and begins anew when no work is left. Work that
/// is never slowed down takes exactly its length.
class work_clock {
public:
  /// Names a piece of work for ever. A default-constructed one names none.
  class handle {
  public:
    friend auto operator<=>(const handle&, const handle&) = default;

  private:
    friend class work_clock;

    /// What the clock shows at the end of the piece: nanoseconds, and a part of
    /// one, which is a multiple of a `tick`.
    std::int64_t whole = 0;
    double part = 0;
    /// Ascending in the order in which pieces began, from 1 on.
    std::uint64_t order = 0;
  };

  /// `cores`: at least 1, or `no_limit`.
  work_clock(time_point now, std::uint32_t cores) : at_(now), cores_(cores) {}

  /// A piece of work begins that takes `length` at full speed; `payload` says
  /// whose it is. Instants must not descend from call to call, here as
  /// everywhere.
  handle begin(time_point now, std::uint64_t payload, duration length);

  /// The piece is not to be done any more. Returns false if it has ended.
  bool cancel(time_point now, const handle& piece);

  /// From now on all work takes `stretch` times as long, which is more than 0;
  /// if that is infinite, it stands still.
  void set_stretch(time_point now, double stretch);

  /// When the next piece ends if nothing changes; `never` if there is none, or
  /// if all stand still.
  [[nodiscard]] time_point next() const;

  /// Takes out a piece that has ended and returns its payload: the one that
  /// ended first, of several the one that began first.
  std::optional<std::uint64_t> pop_due(time_point now);

  /// How many pieces there are.
  [[nodiscard]] std::size_t size() const noexcept { return pieces_.size(); }

  /// How many cores they use.
  [[nodiscard]] std::uint32_t used_cores() const noexcept {
    return static_cast<std::uint32_t>(
      std::min<std::size_t>(pieces_.size(), cores_));
  }

private:
  void advance(time_point now);
  [[nodiscard]] double whole_stretch() const;

  time_point at_;
  std::uint32_t cores_;
  double stretch_ = 1;
  /// What the clock shows at `at_`: nanoseconds and a part of one, in [0, 1).
  std::int64_t whole_ = 0;
  double part_ = 0;
  std::uint64_t begun_ = 0;
  std::map<handle, std::uint64_t> pieces_;
};

} // namespace caisson::sim
