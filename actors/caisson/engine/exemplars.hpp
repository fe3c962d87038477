// Traced calls as examples of what histograms of durations count.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/engine/gate_snapshot.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace caisson::detail {

/// Keeps the last example of each bucket of each histogram. Takes memory only
/// once there is one.
class exemplars {
public:
  /// `x` was measured; `ok` as in `duration_summary`.
  void note(measured what, bool ok, const duration_exemplar& x);

  /// Those of one histogram, by how long they took.
  [[nodiscard]] std::vector<duration_exemplar> list(measured what,
                                                    bool ok) const;

  /// Forgets everything.
  void clear() noexcept { all_ = nullptr; }

private:
  static constexpr std::size_t kinds = std::size_t{last_measured} + 1;

  /// One for each bucket; without a span there is none.
  using buckets = std::vector<duration_exemplar>;

  std::unique_ptr<std::array<buckets, 2 * kinds>> all_;
};

} // namespace caisson::detail
