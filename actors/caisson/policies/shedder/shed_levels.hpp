// Levels of calls, and the threshold from which a shedder lets them pass.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/outcome.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::detail {

/// Calls have levels: one for each priority and each of 128 groups of users,
/// the more important the higher. Those from the threshold on pass. After each
/// window the threshold moves, to where a wanted number of the calls that the
/// window had would have passed.
///
/// The level below the threshold passes in part, so that the threshold moves by
/// less than a level: a share of its calls without a user. Those of users pass
/// all or none, unless they are so many that it makes a difference of more than
/// a tenth.
///
/// Callers may keep back calls below the threshold, and send one for several as
/// a sample. How many stay away from each level is an average of ten windows,
/// as samples are few.
///
/// Takes 16 KiB from the first call on, as much again from the first sample on,
/// and constant time for a call.
class shed_levels {
public:
  /// Priorities are clamped to this range.
  static constexpr std::int32_t lowest = -16;
  static constexpr std::int32_t highest = 15;

  static constexpr std::uint32_t groups = highest_user_priority;
  static constexpr std::uint32_t classes = static_cast<std::uint32_t>(highest
                                                                      - lowest)
                                           + 1;

  /// How many levels there are.
  static constexpr std::uint32_t count = classes * groups;
  static_assert(count == levels_of_calls);

  /// The level of calls of that priority and group.
  [[nodiscard]] static std::uint32_t level_of(std::int32_t priority,
                                              std::uint32_t group) noexcept {
    return class_of(priority) * groups + group;
  }

  // -- calls ------------------------------------------------------------------

  /// Whether a call of that priority and group (below `groups`) passes. It
  /// counts as `calls` calls, of which the others stayed away.
  bool admit(std::int32_t priority, std::uint32_t group, std::uint32_t calls,
             random_source& r);

  /// Whether a call of no user passes: while calls are shed, one of the groups
  /// is drawn for it. Otherwise as `admit`.
  bool admit_any(std::int32_t priority, std::uint32_t calls, random_source& r);

  /// Counts a call of no user that stands only for itself, while all calls
  /// pass.
  /// @pre !sheds()
  void pass_any(std::int32_t priority) {
    if (over_) [[unlikely]]
      begin_window();
    ++seen_any_[class_of(priority)];
  }

  /// Whether there are calls that do not pass.
  [[nodiscard]] bool sheds() const noexcept { return at_.threshold > 0; }

  /// Levels from this one on pass, 0 to `count`.
  [[nodiscard]] std::uint32_t threshold() const noexcept {
    return at_.threshold;
  }

  /// Levels below this one do not pass at all.
  [[nodiscard]] std::uint32_t certain() const noexcept {
    return at_.part > 0 ? at_.threshold - 1 : at_.threshold;
  }

  /// The share of the last window's calls that would pass.
  [[nodiscard]] double share() const noexcept;

  // -- windows ----------------------------------------------------------------

  /// The window is over; afterwards a share of `factor` (less than 1) of its
  /// calls that passed do, but at least `least` calls. Never lets more pass.
  void tighten(double factor, double least);

  /// Does what `tighten` does, with a `factor` above 1. Never lets fewer pass.
  /// If the window had no calls, it goes on from the last one that had.
  void relax(double factor, double least);

  /// The window is over, and nothing changes.
  void keep() noexcept { over_ = true; }

  /// All calls pass.
  void open() noexcept;

private:
  static constexpr double heavy = 0.1;
  static constexpr int averaged = 10;

  [[nodiscard]] static std::uint32_t class_of(std::int32_t priority) noexcept {
    return static_cast<std::uint32_t>(std::clamp(priority, lowest, highest)
                                      - lowest);
  }
  void begin_window();
  [[nodiscard]] bool passes_in_part(random_source& r) const;

  void note_absent(std::uint32_t first, std::uint32_t levels, double calls);
  void expect_absent(std::uint32_t threshold);
  void forget_absent() noexcept;

  // How many calls of the window had that level; those without a group count
  // evenly for all.
  [[nodiscard]] double arrivals_of(std::uint32_t level) const noexcept;

  // The same with those that stayed away: they are all below the threshold.
  [[nodiscard]] double calls_of(std::uint32_t level) const noexcept;
  [[nodiscard]] double passing() const noexcept;
  [[nodiscard]] double all() const noexcept;

  struct place {
    std::uint32_t threshold = 0;
    // Which share passes of the level below.
    double part = 0;
    // Whether that goes for calls of users, too.
    bool parts_users = false;

    [[nodiscard]] double height() const noexcept { return threshold - part; }
  };
  [[nodiscard]] place place_for(double target) const noexcept;
  void ensure_place() const;

  place at_;
  // By level, then the calls without a group by class.
  std::vector<std::uint32_t> seen_;
  std::array<std::uint32_t, classes> seen_any_{};
  // By level, how many stay away in a window; empty: none that is known of.
  std::vector<float> absent_;
  // The weight of this window in that average.
  double newest_ = 1;
  // How many should pass by now; for windows without calls.
  double target_ = 0;
  // The counts are those of a window that is over.
  bool over_ = true;
};

} // namespace caisson::detail
