// Finds the calls in flight that take too long.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/pooled_list.hpp>
#include <caisson/base/time.hpp>

#include <cstdint>

namespace caisson::detail {

/// Calls in flight in the order of their admission. The limit is the same for
/// all, so the oldest is the next to be slow. Every operation takes constant
/// time. Times passed in must not go backwards.
class slow_watch {
public:
  using handle = std::uint32_t;

  /// The handle of a call that is not watched.
  static constexpr handle none = 0xffffffff;

  /// Watches a call. `number` is above 0 and unique.
  // Apart, as most breakers watch no calls, and theirs take longer with it.
  [[gnu::noinline]] handle add(std::uint64_t number, time_point admitted) {
    CAISSON_ENSURE(calls_.empty()
                     || (calls_[calls_.back()].number < number
                         && calls_[calls_.back()].admitted <= admitted),
                   "call {} is watched after call {}", number,
                   calls_[calls_.back()].number);
    return calls_.push_back({number, admitted});
  }

  /// The call has come back. Returns whether it was still being watched, that
  /// is, it has not been slow.
  bool remove(handle h, std::uint64_t number) {
    auto x = calls_.find(h);
    // Its place may have gone to another.
    if (!x || x->number != number)
      return false;
    calls_.erase(h);
    return true;
  }

  /// When the next call will be slow; `never` if none is in entry.
  [[nodiscard]] time_point next(duration limit) const {
    if (limit == unlimited || calls_.empty())
      return never;
    return time_after(calls_[calls_.front()].admitted, limit);
  }

  /// The oldest call is slow: it is not watched any more.
  void pop() { calls_.erase(calls_.front()); }

  [[nodiscard]] std::size_t size() const { return calls_.size(); }

private:
  struct entry {
    std::uint64_t number = 0;
    time_point admitted;
  };

  pooled_list<entry> calls_;
};

} // namespace caisson::detail
