// The settings of a batcher.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// What becomes of items that come while as many batches as may be are in
/// flight.
enum class blocked_items : std::uint8_t {
  /// The items wait until a batch is done.
  wait,
  /// The items are rejected, except those that are equal to one that waits.
  reject,
};

template <>
struct enum_names<blocked_items> {
  static constexpr std::string_view value[] = {"wait", "reject"};
};

/// The heaviest that an item can be: heavier ones go alone, too.
inline constexpr std::uint32_t heaviest_batch_item = 1'000'000'000;

/// The settings of a batcher.
struct batcher_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// The forming batch is sent when it has this many items: 1 to 100000,
  /// default 100.
  std::uint32_t max_items = 100;

  /// The forming batch is sent when its items weigh this much, and a batch
  /// weighs at most this much, except for a single item that is heavier: 0 to
  /// 1000000000, default 0: weights do not matter. An item weighs as many
  /// `permits` as its call, or what `batching::weigh` says.
  std::uint32_t max_weight = 0;

  /// The forming batch is sent this long after its first item arrived: 0 to 1h,
  /// default 10ms. With 0 items only wait while `max_outstanding` batches are
  /// in flight.
  duration max_delay = std::chrono::milliseconds(10);

  /// Whether a batch is sent sooner if waiting would bring few further items:
  /// `max_items` and `max_delay` are then limits of what is found by the rate
  /// at which items come. Default false.
  bool adaptive = false;

  /// With `adaptive`, a batch is never sent for its number of items if it has
  /// fewer than this: 1 to 100000, at most `max_items`, default 1. With a
  /// `min_delay` above 0 a single item never is.
  std::uint32_t min_items = 1;

  /// With `adaptive`, the forming batch is sent this long after its first item
  /// if no further one is to be expected: 0 to 1h, at most `max_delay`, default
  /// 0.
  duration min_delay = duration::zero();

  /// With `adaptive`, how fast the rate of the past is forgotten: what came so
  /// long ago counts 1/e. 10ms to 1h, default 1s.
  duration rate_window = std::chrono::seconds(1);

  /// How many batches may be in flight at once: 1 to 1000, default 4. Beyond
  /// that, items wait until one of them is done.
  std::uint32_t max_outstanding = 4;

  /// What becomes of items that come while `max_outstanding` batches are in
  /// flight; default `wait`. `reject` needs a `max_delay` above 0: otherwise
  /// each item would be sent alone.
  blocked_items when_blocked = blocked_items::wait;

  /// How many items may wait to be sent: 1 to 1000000, not less than
  /// `max_items`, default 10000. Further ones are rejected.
  std::uint32_t max_waiting = 10'000;

  /// The forming batch is sent this long before the earliest deadline in it: 0
  /// to 1h, default 5ms. Set it to the time that a batch takes.
  duration deadline_margin = std::chrono::milliseconds(5);

  /// How many batches may be forming at once, one for each shard that has items
  /// (`batching::shard`): 1 to 100000, default 1000. For an item of a further
  /// shard the one that is due next is sent early; if that cannot be, the item
  /// is rejected.
  std::uint32_t max_shards = 1'000;

  /// How often a batch that the worker answers with an error is split in halves
  /// that are sent again, until the item at fault is alone: 0 to 20, default 0:
  /// never. Items may then be carried out more than once.
  std::uint32_t split_failed = 0;
};

/// Lists the fields of `c`.
void describe(field_visitor& v, batcher_config& c);

/// Checks that a batch can fill up, that items may wait for others at all, and
/// that no minimum is above its maximum.
void check(const batcher_config& c, const setting_path& path, problems& out);

} // namespace caisson
