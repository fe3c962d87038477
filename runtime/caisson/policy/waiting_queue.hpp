// Calls that wait for something of which there is too little.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/pooled_list.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/settings/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caisson {

/// Whose turn it is when what calls wait for becomes free.
enum class wait_order : std::uint8_t {
  /// The call that has waited longest.
  fifo,
  /// The call that came last.
  lifo,
};

template <>
struct enum_names<wait_order> {
  static constexpr std::string_view value[] = {"fifo", "lifo"};
};

/// Calls that wait, each with its weight, in the order in which they came.
/// Calls that give up leave from the middle. Everything takes constant time,
/// apart from `take_heavier`.
class waiting_queue {
public:
  struct entry {
    /// 0 if it was taken out.
    call_id call = 0;
    std::uint32_t permits = 0;
    /// What the policy noted on the call when it began to wait.
    std::uint32_t note = 0;
    /// When it began to wait.
    time_point since = {};

    /// How long it has waited; a clock that steps back counts as standing.
    [[nodiscard]] duration waited(time_point now) const noexcept {
      return time_until(now, since);
    }
  };

  /// What a call keeps in its slot: its weight, and where it waits or waited.
  struct stay {
    std::uint32_t permits = 1;
    pooled_list<entry>::handle place = pooled_list<entry>::none;
  };

  explicit waiting_queue(wait_order order = wait_order::fifo) noexcept
    : order_(order) {}

  /// From now on `order` decides the turns; all waiting calls stay.
  void reorder(wait_order order) noexcept { order_ = order; }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// The total weight of the waiting calls.
  [[nodiscard]] std::int64_t weight() const noexcept { return weight_; }

  /// Whether it would be a newcomer's turn at once.
  [[nodiscard]] bool newcomer_is_next() const noexcept {
    return empty() || order_ == wait_order::lifo;
  }

  /// The call begins to wait. Whoever takes it out gets `note` back.
  void join(call_id call, stay& s, time_point now, std::uint32_t note = 0) {
    s.place = entries_.push_back({call, s.permits, note, now});
    weight_ += s.permits;
  }

  /// Whether the call with this stay still waits.
  [[nodiscard]] bool waits(const stay& s, call_id call) const noexcept {
    auto* w = entries_.find(s.place);
    return w && w->call == call;
  }

  /// Takes out the call with this stay, which waits.
  entry leave(const stay& s) { return take(s.place); }

  /// Whose turn it is. @pre !empty()
  [[nodiscard]] const entry& next() const noexcept {
    return entries_[next_place()];
  }

  /// Takes out the call whose turn it is. @pre !empty()
  entry take_next() { return take(next_place()); }

  /// Takes out the call that has waited longest. @pre !empty()
  entry take_oldest() { return take(entries_.front()); }

  /// Takes out each call that weighs more than `most`, and calls `f` with it;
  /// the one that has waited longest is the first.
  template <class F>
  void take_heavier(std::uint32_t most, F f) {
    for (auto h = entries_.front(); h != pooled_list<entry>::none;) {
      auto following = entries_.next(h);
      if (entries_[h].permits > most)
        f(take(h));
      h = following;
    }
  }

private:
  using handle = pooled_list<entry>::handle;

  [[nodiscard]] handle next_place() const noexcept {
    return order_ == wait_order::fifo ? entries_.front() : entries_.back();
  }

  entry take(handle h) {
    auto w = entries_.erase(h);
    weight_ -= w.permits;
    CAISSON_ENSURE(weight_ >= 0 && (weight_ == 0 || !entries_.empty()),
                   "{} calls of weight {} wait", entries_.size(), weight_);
    return w;
  }

  wait_order order_;
  pooled_list<entry> entries_;
  std::int64_t weight_ = 0;
};

} // namespace caisson
