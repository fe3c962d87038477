#include <caisson/base/window.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

namespace {

duration width_of(duration length, std::size_t buckets) {
  CAISSON_ENSURE(length > duration::zero() && buckets > 0,
                 "a window of {} has {} buckets", length, buckets);
  auto n = static_cast<duration::rep>(buckets);
  auto rest = length.count() % n == 0 ? 0 : 1;
  return duration{length.count() / n + rest};
}

} // namespace

// -- count window -------------------------------------------------------------

count_window::count_window(std::size_t calls)
  : bits_((calls + word_bits - 1) / word_bits), capacity_(calls) {
  CAISSON_ENSURE(calls > 0, "a window has no calls");
}

bool count_window::bit(std::size_t i) const noexcept {
  return (bits_[i / word_bits] >> (i % word_bits) & 1u) != 0;
}

void count_window::resize(std::size_t calls) {
  if (calls == capacity_)
    return;
  count_window other{calls};
  auto oldest = (next_ + capacity_ - size_) % capacity_;
  for (std::size_t i = 0; i < size_; ++i)
    other.add(bit((oldest + i) % capacity_));
  other.ensure_counts();
  CAISSON_ENSURE(size_ > calls || other.failures_ == failures_,
                 "of {} failures {} are in the results", failures_,
                 other.failures_);
  *this = std::move(other);
}

// -- time window --------------------------------------------------------------

time_window::time_window(duration length, std::size_t buckets)
  : buckets_(buckets), width_(width_of(length, buckets)) {}

std::int64_t time_window::number_of(time_point t) const noexcept {
  auto ticks = t.time_since_epoch().count();
  auto n = ticks / width_.count();
  // Division rounds towards zero, buckets are numbered by rounding down.
  return ticks % width_.count() < 0 ? n - 1 : n;
}

std::size_t time_window::place_of(std::int64_t number) const noexcept {
  auto n = static_cast<std::int64_t>(buckets_.size());
  auto i = number % n;
  return static_cast<std::size_t>(i < 0 ? i + n : i);
}

// The newest bucket is that of `now`, which is later than it was, but for the
// one at the end of the clock: it does not end.
void time_window::move_to(time_point now) {
  auto to = number_of(now);
  auto n = static_cast<std::int64_t>(buckets_.size());
  // An empty window has nothing to clear, and before the first call `newest_`
  // is no number to count from.
  if (total_ > 0) {
    CAISSON_ENSURE(to >= newest_, "step {} follows step {}", to, newest_);
    auto steps = std::min(to - newest_, n);
    for (std::int64_t i = 1; i <= steps; ++i) {
      auto oldest = std::exchange(at(newest_ + i), bucket{});
      total_ -= oldest.total;
      failures_ -= oldest.failures;
    }
    // What is counted is what is in the buckets.
    CAISSON_ENSURE(failures_ >= 0 && failures_ <= total_
                     && (steps < n || total_ == 0),
                   "{} failures in {} results after {} steps of {}", failures_,
                   total_, steps, n);
  }
  newest_ = to;
  newest_place_ = place_of(to);
  newest_end_ = to < number_of(never) ? time_point{(to + 1) * width_} : never;
}

// Counts what happened at `t`, unless that has left the window.
void time_window::credit(time_point t, const bucket& what) {
  auto number = std::min(number_of(t), newest_);
  if (newest_ - number >= static_cast<std::int64_t>(buckets_.size()))
    return;
  auto& b = at(number);
  b.total += what.total;
  b.failures += what.failures;
  total_ += what.total;
  failures_ += what.failures;
}

void time_window::resize(duration length, std::size_t buckets, time_point now) {
  if (width_of(length, buckets) == width_ && buckets == buckets_.size())
    return;
  roll(now);
  time_window other{length, buckets};
  other.roll(now);
  if (total_ > 0) {
    auto n = static_cast<std::int64_t>(buckets_.size());
    for (auto number = newest_ - n + 1; number <= newest_; ++number)
      other.credit(time_point{number * width_}, at(number));
    CAISSON_ENSURE(other.total_ <= total_ && other.failures_ <= failures_,
                   "{} results become {}", total_, other.total_);
  }
  *this = std::move(other);
}

} // namespace caisson
