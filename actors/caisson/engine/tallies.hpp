// Tallies of what calls needed.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/policy/measurements.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::detail {

/// Counts numbers by what they are of and how the call ended, in buckets that
/// are few and fixed: half a kilobyte in all.
class tallies {
public:
  /// `ok` as in `tally_summary`.
  void record(tallied what, bool ok, std::uint64_t n) noexcept {
    auto& x = all_[index_of(what, ok)];
    ++x.counts[what == tallied::attempts ? bucket_of_attempts(n)
                                         : bucket_of_share(n)];
    x.sum += n;
  }

  /// What was counted, without what never happened.
  [[nodiscard]] std::vector<tally_summary> list() const;

  /// Forgets everything.
  void clear() noexcept { all_ = {}; }

private:
  static constexpr std::size_t most_buckets = 12;

  struct numbers {
    std::array<std::uint64_t, most_buckets> counts{};
    std::uint64_t sum = 0;
  };

  // In place of a search in `bounds_of`, as it is done for each call.

  static constexpr std::size_t bucket_of_attempts(std::uint64_t n) noexcept {
    if (n <= 6)
      return n;
    return std::size_t{7} + (n > 8) + (n > 12) + (n > 16) + (n > 32);
  }

  static constexpr std::size_t bucket_of_share(std::uint64_t n) noexcept {
    return n <= 100 ? 0 : std::min<std::size_t>((n - 1) / 100, 10);
  }

  static constexpr std::size_t index_of(tallied what, bool ok) noexcept {
    return 2 * static_cast<std::size_t>(what) + (ok ? 0 : 1);
  }

  std::array<numbers, 2 * (std::size_t{last_tallied} + 1)> all_{};
};

/// The share of the time from `begun` to `limit` that is over at `now`, in
/// thousandths, rounded up. All of it if there never was any.
[[nodiscard]] inline std::uint64_t share_used(time_point begun, time_point now,
                                              time_point limit) noexcept {
  constexpr std::int64_t all = 1000;
  if (limit <= begun || now >= limit)
    return all;
  if (now <= begun)
    return 0;
  auto whole = (limit - begun).count();
  auto used = (now - begun).count();
  // Of a hundred days and more, units of a microsecond are fine enough.
  if (whole > std::int64_t{1} << 53) {
    whole /= all;
    used /= all;
  }
  return static_cast<std::uint64_t>((used * all + whole - 1) / whole);
}

} // namespace caisson::detail
