#include <caisson/policies/retrier/first_try_alarm.hpp>

#include <fmt/format.h>

#include <utility>

namespace caisson::detail {

namespace {

double share(const time_window& w) noexcept {
  return static_cast<double>(w.total() - w.failures())
         / static_cast<double>(w.total());
}

std::int64_t percent(const time_window& w) noexcept {
  return w.total() == 0 ? 0 : (w.total() - w.failures()) * 100 / w.total();
}

} // namespace

first_try_alarm::first_try_alarm(const limits& l)
  : limits_(l), first_(l.window, bucket_count), calls_(l.window, bucket_count) {
}

void first_try_alarm::add_first(bool ok, time_point now) {
  if (limits_.first_try > 0)
    first_.add(!ok, now);
}

void first_try_alarm::add_call(bool ok, time_point now) {
  if (limits_.first_try > 0)
    calls_.add(!ok, now);
}

bool first_try_alarm::update(time_point now) {
  if (limits_.first_try <= 0)
    return std::exchange(raised_, false);
  first_.roll(now);
  calls_.roll(now);
  return std::exchange(raised_, judge()) != raised_;
}

bool first_try_alarm::judge() const noexcept {
  if (raised_)
    return first_.total() * 2 >= limits_.minimum
           && share(first_) < (limits_.first_try + 1) / 2;
  return first_.total() >= limits_.minimum && calls_.total() >= limits_.minimum
         && share(first_) < limits_.first_try
         && share(calls_) >= limits_.first_try;
}

void first_try_alarm::change(const limits& l, time_point now) {
  first_.resize(l.window, bucket_count, now);
  calls_.resize(l.window, bucket_count, now);
  limits_ = l;
  if (l.first_try <= 0)
    clear();
}

void first_try_alarm::clear() {
  first_ = time_window{limits_.window, bucket_count};
  calls_ = time_window{limits_.window, bucket_count};
}

std::string first_try_alarm::text() const {
  return fmt::format("first attempts {} %, calls {} %", percent(first_),
                     percent(calls_));
}

} // namespace caisson::detail
