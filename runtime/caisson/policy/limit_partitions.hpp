// Settings of the partitions of a limit, and their guaranteed parts of it.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/settings/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// A named share of a limit.
struct limit_partition {
  /// Letters, digits, `_` and `-`, at most 64; not `rest`.
  std::string name = {};

  /// Which part of the limit is guaranteed to it: 0 to 1. 0: it gets only what
  /// no other wants.
  double share = 0;

  friend bool operator==(const limit_partition&, const limit_partition&)
    = default;
};

/// The partitions of a limit. A call belongs to the one that its key names, and
/// otherwise to the rest, which has what is left of the limit.
struct partition_settings {
  /// How many partitions there may be.
  static constexpr std::size_t most = 32;
  /// The longest name, in bytes.
  static constexpr std::size_t longest_name = 64;
  /// What the rest is called in metrics.
  static constexpr std::string_view rest_name = "rest";

  using function = std::function<std::string(const call_info&)>;

  /// The partitions, at most 32, with different names; their shares are at most
  /// 1 together. Default: none, so that the limit has no parts.
  std::vector<limit_partition> list = {};

  /// Whether a partition may use, beyond its guaranteed part of the permits and
  /// of the places in the queue, what others do not use; default yes.
  bool borrow = true;

  /// How long the rejection of a call is delayed that finds the queue full,
  /// while its partition uses all that is guaranteed to it; 0 to 1min, default
  /// 0.
  duration reject_delay = duration::zero();

  /// How many rejections may be delayed at the same time; 1 to 100000, default
  /// 100. Further ones are not delayed.
  std::uint32_t max_delayed = 100;

  /// Names the partition of a call, in place of its key; if there is none of
  /// that name, the call belongs to the rest. May be asked again for a call
  /// that waits when settings change.
  function by_call = {};
};

namespace detail {

/// Lists the partitions and what belongs to them.
void describe_partitions(field_visitor& v, partition_settings& p);

/// Reports wrong names and shares, settings without effect, and a limit that by
/// its setting `limit` may be `least`, which is too low for all.
void check_partitions(std::string_view limit, std::uint32_t least,
                      std::uint32_t max_waiters, const partition_settings& p,
                      const setting_path& path, problems& out);

/// Reports partitions by key in a policy that is kept per key.
void check_partitions_per_key(const partition_settings& p,
                              const setting_path& path, problems& out);

/// What a share is counted in, so that sums and products of shares are exact.
inline constexpr std::int64_t whole_share = 1'000'000'000;

/// The share in billionths, rounded.
[[nodiscard]] std::int64_t billionths_of(double share) noexcept;

/// The part of the key before its first `/`, or all of it.
[[nodiscard]] std::string_view partition_in(std::string_view key) noexcept;

/// Splits `limit` into whole numbers whose sum it is, by shares in billionths
/// whose sum is `whole_share`: each rounded down, and what is left over goes to
/// those with the largest fractions, the first of equal ones. Then each that
/// has a share but got nothing gets 1 from the one that has most, if that has
/// more than 1.
[[nodiscard]] std::vector<std::int64_t>
split_limit(std::int64_t limit, std::span<const std::int64_t> shares);

} // namespace detail
} // namespace caisson
