#include <caisson/observe/control/detail/event_tail.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace caisson::detail {

event_tail::event_tail(caf::actor_system& sys, std::size_t most,
                       duration forgotten_after)
  : sys_(sys), most_(most), forgotten_after_(forgotten_after),
    // So that no position of an earlier process fits.
    period_(static_cast<std::uint64_t>(
      utc_time::clock::now().time_since_epoch().count())) {}

event_tail::~event_tail() {
  close();
  std::lock_guard guard{following_};
  log_.reset();
}

void event_tail::close() {
  {
    std::lock_guard guard{mutex_};
    closed_ = true;
  }
  changed_.notify_all();
}

event_tail::part event_tail::read(const gate_list& gates,
                                  std::optional<position> from,
                                  duration patience) {
  constexpr duration step = std::chrono::milliseconds(200);
  const auto until = steady::now() + patience;
  auto end = follow(gates());
  if (!from)
    return {end};
  part out;
  if (from->period != end.period) {
    out.missed.reset();
    from = position{end.period, 0, 0};
  }
  while (!wait(*from, std::min(until, steady::now() + step))
         && steady::now() < until)
    end = follow(gates());
  if (out.missed)
    *out.missed += end.dropped - std::min(from->dropped, end.dropped);
  std::lock_guard guard{mutex_};
  asked_ = steady::now();
  if (from->period != period_) {
    // It was forgotten meanwhile.
    out.missed.reset();
    from = position{period_, 0, 0};
  }
  auto first = taken_ - lines_.size();
  auto next = std::min(std::max(from->events, first), taken_);
  if (out.missed && from->events < first)
    *out.missed += first - from->events;
  auto n = std::min<std::uint64_t>(taken_ - next, most_lines);
  auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(next - first);
  out.lines.assign(begin, begin + static_cast<std::ptrdiff_t>(n));
  out.next = {period_, next + n, end.dropped};
  return out;
}

// Whether there is something to report.
bool event_tail::wait(const position& from, steady::time_point until) {
  std::unique_lock guard{mutex_};
  ++waiting_;
  auto any = changed_.wait_until(guard, until, [&] {
    return closed_ || period_ != from.period || taken_ > from.events;
  });
  --waiting_;
  return any;
}

// Where the end is.
event_tail::position
event_tail::follow(const std::vector<control_handle>& gates) {
  std::lock_guard guard{following_};
  auto now = position{};
  {
    std::lock_guard inner{mutex_};
    asked_ = steady::now();
    if (resting_) {
      ++period_;
      taken_ = 0;
      lines_.clear();
      followed_.clear();
    }
    now = {period_, taken_, 0};
  }
  if (std::exchange(resting_, false)) {
    // Waits for the thread of the one before, which waits for nobody.
    log_.reset();
    log_ = event_log::to_function(
      sys_, [this, period = now.period](const event& x, utc_time at) {
        take(x, at, period);
      });
  }
  // Those that are gone are forgotten.
  std::set<caf::actor_id> seen;
  for (const auto& gate : gates)
    if (gate && seen.insert(gate.id()).second && !followed_.contains(gate.id()))
      log_->follow(gate);
  followed_ = std::move(seen);
  now.dropped = log_->dropped();
  return now;
}

void event_tail::take(const event& x, utc_time at, std::uint64_t period) {
  {
    std::lock_guard guard{mutex_};
    if (period != period_)
      return;
    if (waiting_ > 0 || steady::now() - asked_ < forgotten_after_) {
      lines_.push_back(fmt::format(R"({{"text":{},"event":{}}})",
                                   json_string(to_text(x)), to_json(x, at)));
      ++taken_;
      if (lines_.size() > most_)
        lines_.pop_front();
      changed_.notify_all();
      return;
    }
  }
  rest();
}

// The gates' events are not wanted any more. Called by the log's thread, which
// must not wait for one that waits for it.
void event_tail::rest() {
  std::unique_lock guard{following_, std::try_to_lock};
  if (!guard || resting_)
    return;
  resting_ = true;
  log_->close();
}

} // namespace caisson::detail
