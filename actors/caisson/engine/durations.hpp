// Histograms of how long calls, attempts and waits take.
#pragma once

#include <caisson/base/histogram.hpp>
#include <caisson/base/time.hpp>
#include <caisson/caf/messages.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace caisson::detail {

/// Counts durations by what they are of and how it ended. What never happens
/// takes no memory, anything else one histogram.
class durations {
public:
  /// `ok` as in `duration_summary`.
  void record(measured what, bool ok, duration d) {
    auto& h = histograms_[index_of(what, ok)];
    if (!h) [[unlikely]]
      h = std::make_unique<wide_histogram>();
    h->record(d);
  }

  /// Those of one kind; null if there are none.
  [[nodiscard]] const wide_histogram* find(measured what,
                                           bool ok) const noexcept {
    return histograms_[index_of(what, ok)].get();
  }

  /// What was counted, without what never happened.
  [[nodiscard]] std::vector<duration_summary> list() const;

  /// Calls `f` with what, whether it was ok, and the histogram, for each that
  /// is not empty.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < histograms_.size(); ++i)
      if (const auto* h = histograms_[i].get())
        f(static_cast<measured>(i / 2), i % 2 == 0, *h);
  }

  /// Forgets everything.
  void clear() noexcept { histograms_ = {}; }

private:
  static constexpr std::size_t kinds = std::size_t{last_measured} + 1;

  static constexpr std::size_t index_of(measured what, bool ok) noexcept {
    return 2 * static_cast<std::size_t>(what) + (ok ? 0 : 1);
  }

  std::array<std::unique_ptr<wide_histogram>, 2 * kinds> histograms_;
};

} // namespace caisson::detail
