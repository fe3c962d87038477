// The threshold that the shedder of the worker has reported.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/call_info.hpp>

#include <cstdint>

namespace caisson::detail {

/// Which calls the shedder of a callee would reject, as it has reported with
/// the last one that it did. This holds for a limited time, and one in
/// `most_stood_for` of such calls goes to the callee nevertheless: its answer
/// reports the threshold anew, and the callee counts it for those that stayed
/// away, without which it would take its overload for over. Constant time.
class callee_threshold {
public:
  /// The callee sheds calls of levels below `threshold` (1 to
  /// `levels_of_calls`), which is believed before `until`.
  void on_threshold(std::uint32_t threshold, time_point until) noexcept;

  /// It is believed before `latest` at most.
  void shorten(time_point latest) noexcept;

  /// Nothing is known, and no call was kept back.
  void forget() noexcept { *this = {}; }

  /// Calls that went to the callee in spite of a rejection are not counted.
  void forget_kept() noexcept { kept_ = 0; }

  /// Whether `judge` has anything to say.
  [[nodiscard]] bool known() const noexcept { return threshold_ > 0; }

  /// What was reported, 0 if nothing was or it is too long ago.
  [[nodiscard]] std::uint32_t at(time_point now) const noexcept {
    return now < until_ ? threshold_ : 0;
  }

  /// Whether some of the `groups` levels from `first` on are below the
  /// threshold, and some are not.
  [[nodiscard]] bool cuts(std::uint32_t first,
                          std::uint32_t groups) const noexcept {
    return first < threshold_ && threshold_ < first + groups;
  }

  /// What becomes of a call.
  struct verdict {
    /// Whether it goes to the callee.
    bool goes = true;
    /// If so, although it is below the threshold: how many calls it stands for.
    std::uint16_t stands_for = 0;
  };

  /// A call of that level comes. If it stands for some, but is not `sent`, the
  /// next one below the threshold goes in its place.
  [[nodiscard]] verdict judge(std::uint32_t level, time_point now) noexcept;

  /// The call below the threshold that is to go to the callee does.
  void sent(time_point now) noexcept;

private:
  std::uint32_t threshold_ = 0;
  // Those below the threshold since the last one that went to the callee.
  std::uint16_t kept_ = 0;
  time_point until_ = time_point::min();
};

} // namespace caisson::detail
