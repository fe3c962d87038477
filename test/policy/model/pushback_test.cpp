#include <caisson/policy/pushback.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <string>

namespace caisson {
namespace {

// Any second of the years 1900 to 2200.
wall_time draw_instant() {
  return wall_time{std::chrono::seconds{
    *rc::gen::inRange<std::int64_t>(-2'208'988'800, 7'258'118'400)}};
}

// Written by the C library.
std::string written(wall_time t, const char* form) {
  std::time_t seconds = t.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

RC_GTEST_PROP(pushback, reads_what_others_write, ()) {
  auto t = draw_instant();
  auto now = draw_instant();
  RC_ASSERT(parse_http_date(written(t, "%a, %d %b %Y %H:%M:%S GMT"), now) == t);
  RC_ASSERT(parse_http_date(written(t, "%a %b %e %H:%M:%S %Y"), now) == t);
}

RC_GTEST_PROP(pushback, a_short_year_is_right_within_fifty_years, ()) {
  auto now = draw_instant();
  // Whole days, and fewer than in 50 years.
  auto near = std::chrono::hours{
    24 * *rc::gen::inRange<std::int64_t>(-18'000, 18'000)};
  auto t = now + near;
  RC_ASSERT(parse_http_date(written(t, "%A, %d-%b-%y %H:%M:%S GMT"), now) == t);
}

RC_GTEST_PROP(pushback, a_wait_is_never_below_stop_nor_above_a_day, ()) {
  static const std::string alphabet = "0123456789 ,:-GMTSunNovFebday\t\xff";
  auto now = draw_instant();
  auto text = written(draw_instant(),
                      *rc::gen::element("%a, %d %b %Y %H:%M:%S GMT",
                                        "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y", "%s", ""));
  for (auto n = *rc::gen::inRange(0, 4); n > 0; --n) {
    auto i = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    if (i < text.size() && *rc::gen::arbitrary<bool>())
      text.erase(i, 1);
    else
      text.insert(i, 1, *rc::gen::elementOf(alphabet));
  }
  for (auto wait : {parse_retry_after(text, now), parse_grpc_pushback(text)})
    RC_ASSERT(wait == do_not_retry
              || (wait >= duration::zero() && wait <= longest_pushback));
}

RC_GTEST_PROP(pushback, no_text_is_too_strange, (const std::string& text)) {
  auto wait = parse_retry_after(text, wall_time{});
  RC_ASSERT(wait >= do_not_retry && wait <= longest_pushback);
}

} // namespace
} // namespace caisson
