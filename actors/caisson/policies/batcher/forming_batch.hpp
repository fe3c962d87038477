// The items that wait to be sent as one batch.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/base/time.hpp>
#include <caisson/base/timer_queue.hpp>
#include <caisson/policies/batcher/content_map.hpp>
#include <caisson/policies/batcher/sent_batch.hpp>
#include <caisson/policy/call_info.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace caisson::detail {

/// The items that wait to be sent as one batch, in order of arrival. Calls with
/// the same identity are one item, which has the place of the first of them.
class forming_batch {
public:
  using handle = std::uint32_t;

  /// Where a call is.
  struct place {
    handle item;
    /// Among the calls of the item; nothing if it is the only one it can have.
    handle call;
  };

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::size_t items() const noexcept { return items_.size(); }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }

  /// The weight of all items. The first call of an item says what it weighs.
  [[nodiscard]] std::uint64_t weight() const noexcept { return weight_; }

  /// When the oldest item came.
  /// @pre !empty()
  [[nodiscard]] time_point oldest() const noexcept {
    return items_[items_.front()].joined;
  }

  /// The earliest deadline of a call; `never` if none has one.
  [[nodiscard]] time_point first_deadline() const noexcept {
    return deadlines_.next();
  }

  /// How many items came per second when the last one joined; nothing: it is
  /// not known.
  [[nodiscard]] std::optional<double> rate() const noexcept { return rate_; }
  void set_rate(std::optional<double> x) noexcept { rate_ = x; }

  /// Whether a call with that identity would be a further item.
  [[nodiscard]] bool is_new(const std::string& identity) const {
    return identity.empty() || !known_.contains(identity);
  }

  /// Whether the call is still here.
  [[nodiscard]] bool contains(call_id call, place at) const noexcept {
    const auto* x = items_.find(at.item);
    if (!x || x->equals == none)
      return x && x->call == call;
    const auto* y = equals_[x->equals].calls.find(at.call);
    return y && y->call == call;
  }

  /// Adds a call. An empty identity is that of no other call.
  place add(const call_info& call, time_point now, std::uint32_t weight,
            const std::string& identity) {
    if (!identity.empty())
      return add_equal(call, now, weight, identity);
    ++calls_;
    weight_ += weight;
    return {items_.push_back({call.id, now, note_deadline(call), weight, none}),
            none};
  }

  /// The call has left, if it is still here. Returns whether it was.
  bool remove(call_id call, place at);

  /// How many of the oldest items are at most `most`, and weigh at most
  /// `heaviest` together (0: whatever they weigh) unless it is a single one.
  [[nodiscard]] std::size_t fitting(std::size_t most,
                                    std::uint64_t heaviest) const noexcept;

  /// Takes the `n` oldest items out.
  /// @pre n <= items()
  sent_batch take(std::size_t n);

private:
  // Deadlines of the calls, without payloads.
  struct no_value {};
  using deadline_queue = timer_queue<no_value>;
  static constexpr handle none = 0xffffffff;

  struct equal_call {
    call_id call = 0;
    deadline_queue::handle deadline;
  };

  struct equal_calls {
    /// The key of `known_`.
    const std::string* identity = nullptr;
    pooled_list<equal_call> calls;
  };

  struct item {
    /// If there are no equal ones.
    call_id call = 0;
    time_point joined;
    deadline_queue::handle deadline;
    std::uint32_t weight = 1;
    /// In `equals_` if it has an identity.
    handle equals = none;
  };

  place add_equal(const call_info& call, time_point now, std::uint32_t weight,
                  const std::string& identity);
  deadline_queue::handle note_deadline(const call_info& call) {
    return call.deadline == never ? deadline_queue::handle{}
                                  : deadlines_.push(call.deadline, {});
  }
  void forget(handle equals);
  void take_equal(handle equals, bool all, sent_batch& out);

  pooled_list<item> items_;
  // What is not known of each item, so that these are small and need no memory
  // of their own.
  pooled_list<equal_calls> equals_;
  std::size_t calls_ = 0;
  std::uint64_t weight_ = 0;
  std::optional<double> rate_;
  deadline_queue deadlines_;
  // The items by identity, if they have one.
  content_map<handle> known_;
};

} // namespace caisson::detail
