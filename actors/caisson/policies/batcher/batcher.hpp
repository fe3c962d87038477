// Collects calls and sends them as one batch.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/batcher/batch_target.hpp>
#include <caisson/policies/batcher/batcher_config.hpp>
#include <caisson/policies/batcher/forming_batches.hpp>
#include <caisson/policies/batcher/item_rates.hpp>
#include <caisson/policies/batcher/sent_batch.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/settings/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a batcher counts; docs/batcher.md says what each means.
enum class batcher_counter : std::uint8_t {
  items,
  equal_items,
  flushed_by_count,
  flushed_by_weight,
  flushed_by_delay,
  flushed_by_deadline,
  flushed_by_drain,
  flushed_by_split,
  flushed_by_shards,
  emptied,
  batches_split,
  rejected_full,
  rejected_blocked,
  rejected_shards,
  prefiltered,
  abandoned,
  abandoned_in_flight,
  items_succeeded,
  items_failed,
  count_
};

template <>
struct enum_names<batcher_counter> {
  static constexpr std::string_view value[] = {
    "items",
    "equal_items",
    "flushed_by_count",
    "flushed_by_weight",
    "flushed_by_delay",
    "flushed_by_deadline",
    "flushed_by_drain",
    "flushed_by_split",
    "flushed_by_shards",
    "emptied",
    "batches_split",
    "rejected_full",
    "rejected_blocked",
    "rejected_shards",
    "prefiltered",
    "abandoned",
    "abandoned_in_flight",
    "items_succeeded",
    "items_failed",
  };
};

// -- items --------------------------------------------------------------------

/// What the content of a call says about it as an item. A layer passes it to
/// `batcher::describe_next` right before the call is admitted.
struct batch_item {
  /// Nothing: the call's permits.
  std::optional<std::uint64_t> weight = {};
  /// Equal calls in one batch are sent once; empty: it is equal to no other.
  std::string identity = {};
  /// Only calls of the same shard share a batch.
  std::string shard = {};
  /// A user function that says this threw: the call is rejected.
  bool failed = false;
};

// -- policy -------------------------------------------------------------------

/// Holds calls ("items") until there are enough of them, they weigh enough, the
/// first has waited long enough, a deadline is near, or the gate drains. Then
/// it asks the host to send them as one batch. Items are sent in order of
/// arrival. At most `max_outstanding` batches are in flight. Meanwhile up to
/// `max_waiting` items wait, or further ones are rejected.
///
/// A batch is a child call with the items as its parents: the host combines
/// their messages into one, and gives each its part of the answer. The wake-up
/// is computed from the waiting items, so no timer can outlive its batch and
/// flush the next one early.
///
/// A batch that the worker answers with an error may be split. Its items stay
/// held, and its halves are sent before any further item. They count within
/// `max_outstanding`, so no more items are in flight than without.
class batcher final
  : public policy_base<batcher, batcher_config, batcher_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "batcher";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit batcher(batcher_config c);

  // -- calls ------------------------------------------------------------------

  /// Describes the call that is admitted next; otherwise it has no content.
  void describe_next(batch_item x) {
    next_ = std::move(x);
    described_ = true;
  }

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  decision child_done(call_id batch, outcome& result, env& e) override;

  /// Counts a call that the host's prefilter answered and that never became an
  /// item.
  void note_prefiltered() noexcept { count(counter::prefiltered); }

  // -- content ----------------------------------------------------------------

  /// A batch is about to be sent: the number of the item of each of its calls
  /// that have not left, in order. Calls of one number are equal. Empty: each
  /// call is an item of its own.
  [[nodiscard]] const std::vector<std::uint32_t>& begin_batch(call_id batch);

  /// The numbers that `begin_batch` has returned, when the batch has succeeded,
  /// right after `child_done`.
  [[nodiscard]] std::vector<std::uint32_t> take_numbers(call_id batch);

  // -- time -------------------------------------------------------------------

  [[nodiscard]] time_point wakeup() const override;
  void wake(env& e) override;

  // -- operation --------------------------------------------------------------

  [[nodiscard]] std::string_view state() const override;
  void drain(env& e) override;

  [[nodiscard]] bool resends() const noexcept override {
    return config_.split_failed > 0;
  }

protected:
  /// Waiting items stay, even if there are more than the new `max_waiting`, and
  /// follow the new settings.
  void adapt(env& e) override;
  void list_gauges(std::vector<metric>& out) const override;
  /// The rates at which items come.
  void forget(env& e) override;

private:
  // Why a batch is sent; the values are those of the counters.
  enum class reason {
    count = static_cast<int>(counter::flushed_by_count),
    weight = static_cast<int>(counter::flushed_by_weight),
    delay = static_cast<int>(counter::flushed_by_delay),
    deadline = static_cast<int>(counter::flushed_by_deadline),
    drain = static_cast<int>(counter::flushed_by_drain),
    split = static_cast<int>(counter::flushed_by_split),
    shards = static_cast<int>(counter::flushed_by_shards),
  };

  static std::string_view text_of(reason why) noexcept;

  // At what count and delay the batch is sent.
  [[nodiscard]] std::size_t
  target_items(const detail::forming_batch& x) const noexcept {
    return config_.adaptive ? detail::target_of(config_, x.rate()).items
                            : config_.max_items;
  }
  [[nodiscard]] duration
  target_delay(const detail::forming_batch& x) const noexcept {
    return config_.adaptive ? detail::target_of(config_, x.rate()).delay
                            : config_.max_delay;
  }

  [[nodiscard]] bool blocked() const noexcept {
    return running_.size() >= config_.max_outstanding;
  }

  using handle = detail::forming_batches::handle;

  // What the slot of a call has.
  struct call_state {
    handle batch;
    detail::forming_batch::place at;
  };

  // When the forming batch is due by delay and by deadline. The former requires
  // a waiting item.
  [[nodiscard]] time_point delay_due(const detail::forming_batch& x) const;
  [[nodiscard]] time_point deadline_due(const detail::forming_batch& x) const;

  // Why it would be sent whatever the time is.
  [[nodiscard]] std::optional<reason>
  reason_at_any_time(const detail::forming_batch& x) const;
  [[nodiscard]] std::optional<reason> due(const detail::forming_batch& x,
                                          time_point now) const;
  decision take_in(const call_info& call, const batch_item& item, slot& notes,
                   env& e);
  decision take_in_described(const call_info& call, slot& notes, env& e);
  [[nodiscard]] bool adds_item(const batch_item& x) const;
  bool make_room(const std::string& shard, env& e);
  void note(handle h, const env& e);
  void note_all(const env& e);
  void forget_rates();
  void flush_due(env& e);
  void launch(handle h, reason why, env& e);
  void launch_half(env& e);
  void send(detail::sent_batch batch, reason why, env& e);
  bool divide(detail::sent_batch& batch, const outcome& result, env& e);
  bool end_batch(call_id id, const outcome& result, env& e);

  // The waiting items, and how many calls these are.
  detail::forming_batches forming_;
  std::size_t waiting_ = 0;
  // How fast items come, with `adaptive`: also those that are rejected, since a
  // full batcher would otherwise send ever smaller batches.
  detail::item_rates rates_;
  // The rate as the last item arrived.
  std::optional<double> rate_;
  // The batches in flight.
  std::vector<call_id> running_;
  // The batches in flight that may be split, or have equal items.
  std::unordered_map<call_id, detail::sent_batch> tracked_batches_;
  // The calls of batches in flight, and of halves.
  detail::launched_calls launched_;
  std::uint64_t launches_ = 0;
  // Halves to be sent, the next one last: depth first, there are few.
  std::vector<detail::sent_batch> halves_;
  // The batch that has ended last, if it had equal items, and their numbers.
  std::pair<call_id, std::vector<std::uint32_t>> ended_;
  bool draining_ = false;
  // What is said of the next call, if anything is.
  bool described_ = false;
  batch_item next_;
};

} // namespace caisson
