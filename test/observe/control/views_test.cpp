// Numbers of a gate as `caisson ctl show` writes them.
#include <ctl/views.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

namespace caisson::test {
namespace {

using testing::HasSubstr;

TEST(view_of_a_gate, has_units_and_leaves_out_what_is_not_defined) {
  auto view = [](const char* state, const char* metrics, const char* before) {
    auto gate = [&](const std::string& numbers) {
      return nlohmann::ordered_json::parse(
        R"({"name":"g","state":"accepting","worker":"up","metrics":{},)"
        R"("layers":[{"name":"b","kind":"breaker","mode":"enforce","state":")"
        + std::string{state} + R"(","metrics":)" + numbers
        + R"(}],"durations":[{"what":"calls","ok":true,"count":1,)"
          R"("p50_ns":48882255,"p90_ns":48882255,"p99_ns":1999632911,)"
          R"("max_ns":4000000000}]})");
    };
    return ctl::gate_view(gate(metrics), gate(before), 500);
  };
  EXPECT_THAT(
    view("closed",
         R"({"automatic_state":1,"failure_rate_permille":125,"opened":3,)"
         R"("ramp_permille":1000,"score_permille":-1,"share_ppm":2500,)"
         R"("state":1,"longest_wait_us":48882,"waited_us_granted":1999632})",
         R"({"failure_rate_permille":-1,"longest_wait_us":38882,)"
         R"("ramp_permille":900,"opened":2})"),
    HasSubstr("closed  failure_rate 12.5 %  opened 3 (+1)  ramp 100 % (+10 %)"
              "  share 0.25 %  longest_wait 48.9 ms (+10 ms)"
              "  waited_granted 2.00 s\n"));
  auto forced = view("forced_open", R"({"automatic_state":2,"state":3})",
                     R"({})");
  EXPECT_THAT(forced, HasSubstr("forced_open  automatic_state half_open\n"));
  EXPECT_THAT(forced, testing::ContainsRegex("48.9 ms +48.9 ms +2.00 s +4 s"));
}

TEST(view_of_a_gate, begins_with_the_most_important_and_has_rates) {
  auto gate = [](const std::string& numbers) {
    return nlohmann::ordered_json::parse(
      R"({"name":"g","state":"accepting","worker":"up","metrics":)" + numbers
      + R"(,"layers":[],"durations":[]})");
  };
  auto now = gate(
    R"({"attempts":70,"calls":50,"failed":12,"in_progress":3,"limit":-1,)"
    R"("odd":1,"threshold":9})");
  auto before = gate(
    R"({"attempts":70,"calls":30,"failed":5,"in_progress":7,"odd":0,)"
    R"("threshold":8})");
  EXPECT_THAT(ctl::gate_view(now, before, 500, std::chrono::seconds(2)),
              HasSubstr("\nin_progress 3 (-4)  calls 50 (+20, 10/s)  "
                        "failed 12 (+7, 3.5/s)  attempts 70  odd 1 (+1, 0.5/s)"
                        "  threshold 9 (+1)\n"));
  // A gate that has counted from 0 again, and a first reading.
  EXPECT_THAT(ctl::gate_view(before, now, 500, std::chrono::seconds(2)),
              HasSubstr("calls 30 (-20)"));
  EXPECT_THAT(ctl::gate_view(now, {}, 500), HasSubstr("calls 50  failed 12"));
  // Of something else than a program of Caisson.
  auto most = gate(R"({"a":9223372036854775807,"b":1e300})");
  auto least = gate(R"({"a":-9223372036854775808,"b":-1e300})");
  EXPECT_THAT(ctl::gate_view(most, least, 500),
              HasSubstr("a 9223372036854775807 (+9223372036854775807)  "
                        "b 9223372036854775807 (+9223372036854775807)"));
}

} // namespace
} // namespace caisson::test
