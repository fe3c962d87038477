// Sliding windows over results of calls: count-based (the last n calls) and
// time-based (the last t seconds).
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace caisson {

/// The results of the last n calls, one bit each: a ring of bits. Adding takes
/// constant time and allocates nothing.
class count_window {
public:
  /// A window over the last `calls` results, at least 1.
  explicit count_window(std::size_t calls);

  /// Adds the newest result; if the window is full, the oldest one leaves.
  void add(bool failed) {
    auto& word = bits_[next_ / word_bits];
    auto place = next_ % word_bits;
    if (size_ == capacity_)
      failures_ -= static_cast<std::int64_t>(word >> place & 1);
    else
      ++size_;
    auto x = std::uint64_t{failed};
    word = (word & ~(std::uint64_t{1} << place)) | x << place;
    failures_ += failed;
    if (++next_ == capacity_) {
      next_ = 0;
      ensure_counts();
    }
  }

  /// Makes it a window over the last `calls` results, at least 1. The newest
  /// results stay, as many as fit.
  void resize(std::size_t calls);

  /// How many results are in the window, at most `capacity`.
  [[nodiscard]] std::int64_t total() const noexcept {
    return static_cast<std::int64_t>(size_);
  }

  /// How many of them are failures.
  [[nodiscard]] std::int64_t failures() const noexcept { return failures_; }

  /// How many results fit.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

private:
  static constexpr std::size_t word_bits = 64;

  [[nodiscard]] bool bit(std::size_t i) const noexcept;

  void ensure_counts() const {
    CAISSON_ENSURE(failures_ >= 0 && failures_ <= total() && size_ <= capacity_,
                   "{} failures in {} of {} results", failures_, size_,
                   capacity_);
  }

  std::vector<std::uint64_t> bits_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  /// Where the next result goes; the oldest one is there if the ring is full.
  std::size_t next_ = 0;
  std::int64_t failures_ = 0;
};

/// The results of the last `length`, in buckets. A result belongs to the bucket
/// of the instant at which it came: that a call of long ago failed only now is
/// a sign of the present, such as of a worker that hangs.
///
/// Buckets begin at whole multiples of their length on the clock that the
/// caller uses. The window is the bucket of the present instant and the
/// `buckets - 1` before it, so it reaches back between `length` less one bucket
/// and `length`. Time that goes backwards moves nothing.
class time_window {
public:
  /// A window of `buckets` (at least 1) buckets, each `length / buckets` long,
  /// rounded up to a nanosecond; `length` is positive.
  time_window(duration length, std::size_t buckets);

  /// Adds a result that came at `now`. Inline, as each call of some policies
  /// does this, and GCC makes a function of it otherwise.
  [[gnu::always_inline]] void add(bool failed, time_point now) {
    roll(now);
    auto& b = buckets_[newest_place_];
    ++b.total;
    ++total_;
    b.failures += failed;
    failures_ += failed;
  }

  /// Drops the buckets that have left the window at `now`.
  void roll(time_point now) {
    // Within the newest bucket, or earlier, nothing leaves.
    if (now >= newest_end_) [[unlikely]]
      move_to(now);
  }

  /// Changes length and number of buckets as of `now`. The counts of an old
  /// bucket move to the new bucket that holds the old one's first instant, if
  /// that is in the new window; others are dropped.
  void resize(duration length, std::size_t buckets, time_point now);

  /// When the next bucket leaves the window at the earliest; `never` if the
  /// window is empty.
  [[nodiscard]] time_point next_change() const noexcept {
    return total_ == 0 ? never : newest_end_;
  }

  /// How many results are in the window as of the last `add` or `roll`.
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }

  /// How many of them are failures.
  [[nodiscard]] std::int64_t failures() const noexcept { return failures_; }

  /// The length of one bucket.
  [[nodiscard]] duration bucket_length() const noexcept { return width_; }

private:
  struct bucket {
    std::int64_t total = 0;
    std::int64_t failures = 0;
  };

  [[nodiscard]] std::int64_t number_of(time_point t) const noexcept;
  [[nodiscard]] std::size_t place_of(std::int64_t number) const noexcept;
  [[nodiscard]] bucket& at(std::int64_t number) noexcept {
    return buckets_[place_of(number)];
  }
  void move_to(time_point now);
  void credit(time_point t, const bucket& what);

  std::vector<bucket> buckets_;
  duration width_;
  /// The number of the newest bucket, counted from the clock's zero.
  std::int64_t newest_ = std::numeric_limits<std::int64_t>::min();
  /// Where that is, so that most calls need no division.
  std::size_t newest_place_ = 0;
  /// When the newest bucket ends; for the same reason.
  time_point newest_end_ = time_point::min();
  std::int64_t total_ = 0;
  std::int64_t failures_ = 0;
};

} // namespace caisson
