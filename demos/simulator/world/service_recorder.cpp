#include <simulator/world/service_recorder.hpp>

#include <simulator/scenario/scenario.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

namespace {

duration mean(long double sum, std::uint64_t n) {
  return n == 0 ? duration::zero()
                : duration{std::llround(sum / static_cast<long double>(n))};
}

// Leaves the rest for the next second.
std::uint64_t take_microseconds(std::uint64_t& nanoseconds) {
  auto whole = nanoseconds / 1000;
  nanoseconds %= 1000;
  return whole;
}

} // namespace

service_recorder::service_recorder(std::string name, std::uint32_t servers,
                                   std::uint32_t cores, duration from,
                                   duration to)
  : servers_(servers), cores_(cores), from_(from), to_(to),
    integrated_to_(from) {
  total_.name = std::move(name);
  total_.cores = cores == no_limit ? 0 : cores;
}

void service_recorder::integrate_second(duration now) {
  auto width = static_cast<std::uint64_t>((now - second_to_).count());
  busy_in_second_ += width * busy_;
  cores_in_second_ += width * static_cast<std::uint64_t>(cores_used_);
  servers_in_second_ += width
                        * static_cast<std::uint64_t>(std::int64_t{servers_}
                                                     + leaving_);
  second_to_ = now;
}

void service_recorder::integrate(duration now) {
  auto upto = std::min(now, to_);
  if (upto <= integrated_to_)
    return;
  auto width = static_cast<long double>((upto - integrated_to_).count());
  inside_area_ += width * static_cast<long double>(inside_);
  busy_area_ += width * static_cast<long double>(busy_);
  server_area_ += width
                  * static_cast<long double>(std::int64_t{servers_} + leaving_);
  core_area_ += width * static_cast<long double>(cores_used_);
  integrated_to_ = upto;
}

// Within the time that counts, in nanoseconds.
long double service_recorder::clipped(duration t) const {
  return static_cast<long double>(std::clamp(t, from_, to_).count());
}

void service_recorder::arrived(duration now) {
  ++now_.arrivals;
  total_.arrivals += counts(now);
}

void service_recorder::refused(duration now) {
  ++now_.refused;
  total_.refused += counts(now);
}

void service_recorder::rejected_down(duration now) {
  total_.down += counts(now);
}

void service_recorder::entered(duration now, std::size_t queue) {
  integrate(now);
  ++inside_;
  arrivals_inside_ += clipped(now);
  now_.queue = queue;
  now_.queue_max = std::max<std::uint64_t>(now_.queue_max, queue);
  if (counts(now))
    total_.queue_max = std::max<std::uint64_t>(total_.queue_max, queue);
  queue_levels_.risen(queue, now);
  inside_levels_.risen(inside_, now);
}

void service_recorder::watch(level::kind what, const level_watch::goal& goal,
                             duration now) {
  if (what == level::kind::queue)
    queue_levels_.add(goal, now_.queue, now);
  else
    inside_levels_.add(goal, inside_, now);
}

void service_recorder::began(duration now, duration arrived_at,
                             std::size_t queue) {
  now_.queue = queue;
  if (!counts(arrived_at))
    return;
  ++total_.started;
  total_.waited += now > arrived_at;
  wait_sum_ += static_cast<long double>((now - arrived_at).count());
}

void service_recorder::servers_changed(duration now, int by) {
  integrate(now);
  integrate_second(now);
  servers_change_ = true;
  servers_ = static_cast<std::uint32_t>(std::int64_t{servers_} + by);
}

void service_recorder::leaving_changed(duration now, int by) {
  integrate(now);
  integrate_second(now);
  leaving_ += by;
}

void service_recorder::cores_used_changed(duration now, std::int64_t by) {
  integrate(now);
  integrate_second(now);
  cores_used_ += by;
}

void service_recorder::busy_changed(duration now, int by) {
  integrate(now);
  integrate_second(now);
  // What was busy until now: at the end of the warm-up that may be the most.
  if (counts(now))
    total_.busy_max = std::max(total_.busy_max, busy_);
  busy_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(busy_) + by);
  now_.busy_max = std::max(now_.busy_max, busy_);
}

void service_recorder::answered(duration now, bool ok, bool late) {
  ++(ok ? now_.completed : now_.failed);
  if (!counts(now))
    return;
  ++(ok ? total_.completed : total_.failed);
  total_.late += late;
}

void service_recorder::shed(duration now) {
  refused(now);
  total_.shed += counts(now);
}

void service_recorder::abandoned(duration now) {
  total_.abandoned += counts(now);
}

void service_recorder::lost(duration now) {
  total_.lost += counts(now);
}

void service_recorder::left(duration now, duration arrived_at, bool started,
                            duration held_for) {
  integrate(now);
  --inside_;
  arrivals_inside_ -= clipped(arrived_at);
  time_inside_ += clipped(now) - clipped(arrived_at);
  if (!counts(arrived_at))
    return;
  ++left_;
  sojourn_sum_ += static_cast<long double>((now - arrived_at).count());
  if (started) {
    ++served_;
    service_sum_ += static_cast<long double>(held_for.count());
  }
}

service_row service_recorder::end_second(duration now) {
  integrate_second(now);
  auto out = now_;
  out.busy_time = take_microseconds(busy_in_second_);
  out.core_time = take_microseconds(cores_in_second_);
  out.server_time = take_microseconds(servers_in_second_);
  if (cores_ == no_limit)
    out.core_time = 0;
  if (!servers_change_)
    out.server_time = 0;
  out.busy = busy_;
  out.cores_used = static_cast<std::uint64_t>(cores_used_);
  out.servers = servers_change_ ? servers_ : 0;
  now_ = {};
  now_.queue = out.queue;
  now_.queue_max = out.queue;
  now_.busy_max = busy_;
  return out;
}

// Over the time that counts, which is `width`.
double service_recorder::utilization(long double width) const {
  auto used = [width](long double area, std::uint32_t all) {
    return static_cast<double>(area / width / static_cast<long double>(all));
  };
  if (cores_ != no_limit)
    return used(core_area_, cores_);
  if (servers_change_)
    return static_cast<double>(busy_area_ / server_area_);
  return servers_ != no_limit ? used(busy_area_, servers_) : 0;
}

service_summary service_recorder::summary(duration end) {
  integrate(end);
  auto s = total_;
  s.busy_max = std::max(s.busy_max, busy_);
  s.mean_wait = mean(wait_sum_, s.started);
  s.mean_service = mean(service_sum_, served_);
  s.mean_sojourn = mean(sojourn_sum_, left_);
  auto width = static_cast<long double>((integrated_to_ - from_).count());
  if (width > 0) {
    s.mean_inside = static_cast<double>(inside_area_ / width);
    s.utilization = utilization(width);
  }
  auto by_request = time_inside_
                    + static_cast<long double>(inside_) * clipped(end)
                    - arrivals_inside_;
  auto difference = std::abs(inside_area_ - by_request);
  // Less than a nanosecond is rounding.
  if (difference >= 1)
    s.little_error = static_cast<double>(difference
                                         / std::max(inside_area_, by_request));
  return s;
}

} // namespace caisson::sim
