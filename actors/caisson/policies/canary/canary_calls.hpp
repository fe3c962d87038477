// The calls that a canary has, from the oldest on.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/pooled_list.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policy/call_info.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace caisson::detail {

/// The calls with a canary. Finds those that take too long, and those that the
/// baseline is to get because the canary was given up.
///
/// Each call is looked at once for either reason, and once more for each time
/// that the limit changes while it is in progress.
class canary_calls {
public:
  struct call {
    call_id id = 0;
    time_point sent;
    /// Runs only grow.
    std::uint64_t run = 0;
    /// Whether the call was counted as too slow while it was in progress.
    bool overdue = false;
    /// Whether the baseline has the call.
    bool handed_over = false;
  };

  using handle = pooled_list<call>::handle;
  static constexpr handle none = pooled_list<call>::none;

  /// A call is sent to the canary. Calls come in the order of time.
  handle add(call x) {
    auto h = list_.push_back(x);
    on_time_ = on_time_ == none ? h : on_time_;
    kept_ = kept_ == none ? h : kept_;
    return h;
  }

  /// The call is over, or the baseline has it from here on.
  call take(handle h) {
    if (h == on_time_)
      time_from(list_.next(h));
    if (h == kept_)
      keep_from(list_.next(h));
    return list_.erase(h);
  }

  [[nodiscard]] std::size_t size() const noexcept { return list_.size(); }

  // -- too slow ---------------------------------------------------------------

  /// When the next call will have taken longer than `limit`.
  [[nodiscard]] time_point next_overdue(duration limit) const {
    return on_time_ == none || limit == unlimited
             ? never
             : time_after(time_after(list_[on_time_].sent, limit), duration{1});
  }

  /// Marks that call, and returns it.
  const call& take_overdue() {
    CAISSON_ENSURE(on_time_ != none && !list_[on_time_].overdue,
                   "none of {} calls becomes too slow", list_.size());
    auto& x = list_[on_time_];
    x.overdue = true;
    time_from(list_.next(on_time_));
    return x;
  }

  /// The limit is another one: none has been too slow yet.
  void time_anew() {
    auto h = list_.front();
    for (; h != on_time_; h = list_.next(h))
      list_[h].overdue = false;
    time_from(list_.front());
  }

  // -- given up ---------------------------------------------------------------

  /// The canary is given up, in this run.
  void give_up(std::uint64_t run, time_point now) {
    auto before = given_up_.empty() ? 0 : given_up_.back().run;
    if (kept_ != none && list_[list_.back()].run > before)
      given_up_.push_back({now, run});
  }

  /// When calls of a canary that was given up are to be handed over.
  [[nodiscard]] time_point next_hand_over(duration after) const {
    return given_up_.empty() ? never : time_after(given_up_.front().at, after);
  }

  /// The next call to be handed over by now; nothing after the last one. Those
  /// for which `may_go` returns false stay with the canary.
  template <class F>
  std::optional<call_id> take_hand_over(duration after, time_point now,
                                        F may_go) {
    while (now >= next_hand_over(after)) {
      CAISSON_ENSURE(kept_ != none && !list_[kept_].handed_over,
                     "none of {} calls is to be handed over", list_.size());
      auto& x = list_[kept_];
      // The last of a run takes its entry along.
      keep_from(list_.next(kept_));
      x.handed_over = may_go(x.id);
      if (x.handed_over) {
        time_from(on_time_);
        return x.id;
      }
    }
    return std::nullopt;
  }

private:
  struct end {
    time_point at;
    std::uint64_t run = 0;
  };

  // Calls before `h` have been too slow, or are gone. It is not the canary's
  // fault how long the baseline takes.
  void time_from(handle h) {
    while (h != none && list_[h].handed_over)
      h = list_.next(h);
    on_time_ = h;
  }

  // Calls before `h` have been looked at, or are gone.
  void keep_from(handle h) {
    kept_ = h;
    while (!given_up_.empty()
           && (kept_ == none || list_[kept_].run > given_up_.front().run))
      given_up_.pop_front();
  }

  pooled_list<call> list_;
  // The first that has not been too slow.
  handle on_time_ = none;
  // The first that was not looked at when its canary was given up.
  handle kept_ = none;
  // The ends of runs of which there are such calls.
  std::deque<end> given_up_;
};

} // namespace caisson::detail
