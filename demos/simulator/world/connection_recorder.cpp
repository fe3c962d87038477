#include <simulator/world/connection_recorder.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

void connection_recorder::integrate(duration now) {
  auto upto = std::min(now, to_);
  if (upto <= integrated_to_)
    return;
  used_area_ += static_cast<long double>((upto - integrated_to_).count())
                * static_cast<long double>(now_.used);
  integrated_to_ = upto;
}

void connection_recorder::waits(duration now) {
  ++now_.waiting;
  now_.waiting_max = std::max(now_.waiting_max, now_.waiting);
  if (!counts(now))
    return;
  ++total_.waited;
  total_.waiting_max = std::max(total_.waiting_max, now_.waiting);
}

void connection_recorder::began(duration now, duration asked_at, bool waited) {
  now_.waiting -= waited;
  if (!counts(asked_at))
    return;
  ++began_;
  wait_sum_ += static_cast<long double>((now - asked_at).count());
}

void connection_recorder::refused(duration now) {
  ++now_.refused;
  total_.refused += counts(now);
}

// With those that have asked, which the warm-up leaves out.
void connection_recorder::expired(duration asked_at) {
  --now_.waiting;
  ++now_.expired;
  total_.expired += counts(asked_at);
}

void connection_recorder::abandoned(duration asked_at, bool waited) {
  now_.waiting -= waited;
  total_.abandoned += counts(asked_at);
}

void connection_recorder::used_changed(duration now, int by) {
  integrate(now);
  now_.used = static_cast<std::uint64_t>(static_cast<std::int64_t>(now_.used)
                                         + by);
  now_.used_max = std::max(now_.used_max, now_.used);
  if (counts(now))
    total_.used_max = std::max(total_.used_max, now_.used);
}

connection_row connection_recorder::end_second() {
  auto out = now_;
  now_ = {.used = out.used,
          .used_max = out.used,
          .waiting = out.waiting,
          .waiting_max = out.waiting};
  return out;
}

connection_summary connection_recorder::summary(duration end) {
  integrate(end);
  auto out = total_;
  if (began_ > 0)
    out.mean_wait = duration{
      std::llround(wait_sum_ / static_cast<long double>(began_))};
  if (auto width = integrated_to_ - from_; width > duration::zero())
    out.mean_used = static_cast<double>(
      used_area_ / static_cast<long double>(width.count()));
  return out;
}

} // namespace caisson::sim
