#include <caisson/policy/rate_source.hpp>

#include <caisson/base/ensure.hpp>

namespace caisson::detail {

namespace {

warm_up_shape warm_shape(const rate_shape& x) {
  return {x.rate, x.per, x.warm_up_time, x.cold_factor};
}

} // namespace

rate_source::any rate_source::source_of(const rate_shape& x) {
  switch (x.algorithm) {
    case rate_algorithm::fixed_window:
      return fixed_window{x.rate, x.per};
    case rate_algorithm::sliding_window:
      return sliding_window{x.rate, x.per};
    case rate_algorithm::leaky_bucket:
      return leaky_bucket{x.rate, x.per};
    case rate_algorithm::warm_up:
      return warm_up_rate{warm_shape(x)};
    case rate_algorithm::token_bucket:
      break;
  }
  return gcra{x.rate, x.per, x.burst};
}

void rate_source::put_back(std::int64_t n, time_point taken,
                           time_point now) noexcept {
  on_any([&](auto& x) {
    if constexpr (requires { x.put_back(n, taken, now); })
      x.put_back(n, taken, now);
    else if constexpr (requires { x.put_back(n, taken); })
      x.put_back(n, taken);
    else
      x.put_back(n);
  });
}

time_point rate_source::ready_at(std::int64_t ahead,
                                 std::int64_t n) const noexcept {
  return on_any([&](const auto& x) {
    if constexpr (requires { x.ready_at(ahead, n); })
      return x.ready_at(ahead, n);
    else
      return x.ready_at(ahead + n);
  });
}

time_point rate_source::full_at() const noexcept {
  return on_any([](const auto& x) { return x.full_at(); });
}

void rate_source::reshape(const rate_shape& x, time_point now) {
  auto next = source_of(x);
  if (next.index() != any_.index()) {
    any_ = next;
    return fill(now);
  }
  on_any([&](auto& old) {
    if constexpr (requires { old.reshape(x.rate, x.per, x.burst); })
      old.reshape(x.rate, x.per, x.burst);
    else if constexpr (requires { old.reshape(x.rate, x.per); })
      old.reshape(x.rate, x.per);
    else
      old.reshape(warm_shape(x));
  });
  CAISSON_ENSURE(tokens() <= heaviest(), "{} tokens where {} fit", tokens(),
                 heaviest());
}

} // namespace caisson::detail
