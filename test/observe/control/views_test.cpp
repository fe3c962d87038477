// How `caisson ctl show` writes the numbers of a gate.
#include <ctl/views.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

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
              "  share 0.25 %  longest_wait 48.9ms (+10ms)"
              "  waited_granted 2.00s\n"));
  auto forced = view("forced_open", R"({"automatic_state":2,"state":3})",
                     R"({})");
  EXPECT_THAT(forced, HasSubstr("forced_open  automatic_state half_open\n"));
  EXPECT_THAT(forced, testing::ContainsRegex("48.9ms +48.9ms +2.00s +4s"));
}

} // namespace
} // namespace caisson::test
