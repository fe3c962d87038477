#include <caisson/observe/detail/event_writer.hpp>

#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

// So many are taken at a time, to take the lock less often.
constexpr std::size_t most_in_flight = 64;

} // namespace

event_writer::event_writer(std::unique_ptr<event_target> target,
                           std::size_t backlog, std::function<time_point()> now,
                           bool real_time)
  : target_(std::move(target)), backlog_(backlog), now_(std::move(now)),
    real_time_(real_time) {
  note_offset();
}

// Only its own thread can be left, having kept this object to the end.
event_writer::~event_writer() {
  if (thread_.joinable())
    thread_.detach();
}

void event_writer::start() {
  std::lock_guard lock{mutex_};
  thread_ = std::thread{[self = shared_from_this()] { self->run(); }};
}

void event_writer::note_offset() {
  // A thread that is interrupted between the clocks would see them apart.
  constexpr duration quick = std::chrono::milliseconds(1);
  constexpr int most_attempts_to_read = 5;
  std::chrono::nanoseconds found{};
  for (int i = 0; i < most_attempts_to_read; ++i) {
    auto before = now_();
    found = std::chrono::system_clock::now().time_since_epoch()
            - before.time_since_epoch();
    if (now_() - before <= quick)
      break;
  }
  // Less is no change of the calendar: events would swap places.
  constexpr duration change = std::chrono::milliseconds(10);
  if (found - offset_ > change || offset_ - found > change)
    offset_ = found;
}

// -- what comes in ------------------------------------------------------------

void event_writer::offer(caf::message what) {
  std::unique_lock lock{mutex_};
  if (closed_)
    return;
  if (waiting_.size() + in_flight_ >= backlog_) {
    ++dropped_;
    ++lost_;
    return;
  }
  waiting_.push_back({std::move(what), std::exchange(lost_, 0)});
  ++accepted_;
  if (!resting_)
    return;
  lock.unlock();
  work_available_.notify_one();
}

void event_writer::flush() {
  std::unique_lock lock{mutex_};
  if (writer_ == std::this_thread::get_id())
    return;
  written_.wait(lock, [this, last = accepted_, dropped = dropped_] {
    return handled_ >= last && noted_ >= dropped;
  });
}

void event_writer::close() {
  std::unique_lock lock{mutex_};
  closed_ = true;
  work_available_.notify_one();
  // In a function of the user's the thread cannot wait for itself. Whoever
  // closes this again does.
  if (thread_.get_id() == std::this_thread::get_id())
    return;
  auto thread = std::exchange(thread_, {});
  lock.unlock();
  if (thread.joinable())
    thread.join();
}

std::uint64_t event_writer::written() const {
  std::lock_guard lock{mutex_};
  return handled_ - failed_;
}

std::uint64_t event_writer::dropped() const {
  std::lock_guard lock{mutex_};
  return dropped_;
}

std::uint64_t event_writer::failed() const {
  std::lock_guard lock{mutex_};
  return failed_;
}

// -- the thread ---------------------------------------------------------------

void event_writer::run() {
  std::unique_lock lock{mutex_};
  writer_ = std::this_thread::get_id();
  std::vector<entry> xs;
  for (;;) {
    if (waiting_.empty() && lost_ > 0) {
      auto lost = std::exchange(lost_, 0);
      lock.unlock();
      write_lost(lost, last_);
      lock.lock();
      written_.notify_all();
      continue;
    }
    if (waiting_.empty()) {
      resting_ = true;
      if (closed_)
        return;
      work_available_.wait(lock, [&] { return !waiting_.empty() || closed_; });
      resting_ = false;
      continue;
    }
    in_flight_ = std::min(waiting_.size(), most_in_flight);
    for (std::size_t i = 0; i < in_flight_; ++i) {
      xs.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    lock.unlock();
    write(xs);
    xs.clear();
    lock.lock();
    in_flight_ = 0;
    written_.notify_all();
  }
}

void event_writer::write(const std::vector<entry>& xs) {
  // Someone may set the calendar, or the machine may have slept.
  if (real_time_)
    note_offset();
  for (const auto& x : xs) {
    const auto& what = *portable::get_if<event>(x.what);
    last_ = utc_time{offset_ + std::chrono::nanoseconds{what.time_ns}};
    write_lost(x.lost, last_);
    auto done = attempt([&] { target_->write(what, last_); });
    std::lock_guard lock{mutex_};
    ++handled_;
    if (!done)
      ++failed_;
  }
}

void event_writer::write_lost(std::uint64_t count, utc_time at) {
  if (count == 0)
    return;
  (void)attempt([&] { target_->note_dropped(count, at); });
  std::lock_guard lock{mutex_};
  noted_ += count;
}

template <class F>
bool event_writer::attempt(F f) {
  return try_user(f, [](std::string_view) {});
}

} // namespace caisson::detail
