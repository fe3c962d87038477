// Results as CSV and JSON, to the letter.
#include <support/sim_results.hpp>

#include <simulator/report/csv.hpp>
#include <simulator/report/json.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace caisson::sim {
namespace {

TEST(report_csv, has_a_row_per_second) {
  EXPECT_EQ(
    written(write_csv, small_report()),
    "seed,arm,second,offered,attempts,good,failed,error.queue_full,"
    "error.timeout,latency_mean,latency_p50,latency_p95,latency_p99,"
    "latency_max,web.queue,web.queue_max,web.busy,web.arrivals,web.refused,"
    "web.completed,web.failed,web.busy_max,breaker.users -> web.guard\n"
    "7,naive,0,12,13,12,0,0,0,0.005,0.004,0.009,0.0015,1,2,9,3,13,1,11,1,7,"
    "closed\n"
    "7,naive,1,8,17,3,4,1,3,,,,,,0,4,1,17,2,9,1,3,open\n");
}

TEST(report_csv, leaves_cells_empty_that_an_arm_does_not_have) {
  auto r = small_report();
  auto other = small_result();
  other.name = "other";
  other.rows.resize(1);
  other.breakers = {"b, \"c\"", "users -> web.guard"};
  other.rows[0].breakers = {"half_open", "open"};
  auto db = other.services[0];
  db.name = "db";
  other.services.insert(other.services.begin(), db);
  other.rows[0].services = {{.arrivals = 5}, {.arrivals = 6}};
  r.runs[0].arms[0].rows.resize(1);
  r.runs[0].arms.push_back(other);
  EXPECT_EQ(
    written(write_csv, r),
    "seed,arm,second,offered,attempts,good,failed,latency_mean,latency_p50,"
    "latency_p95,latency_p99,latency_max,web.queue,web.queue_max,web.busy,"
    "web.arrivals,web.refused,web.completed,web.failed,web.busy_max,db.queue,"
    "db.queue_max,db.busy,db.arrivals,db.refused,db.completed,db.failed,"
    "db.busy_max,"
    "breaker.users -> web.guard,\"breaker.b, \"\"c\"\"\"\n"
    "7,naive,0,12,13,12,0,0.005,0.004,0.009,0.0015,1,2,9,3,13,1,11,1,7,,,,,,,,,"
    "closed,\n"
    "7,other,0,12,13,12,0,0.005,0.004,0.009,0.0015,1,0,0,0,6,0,0,0,0,0,0,0,5,"
    "0,0,0,0,open,half_open\n");
}

constexpr auto small_json
  = "{\n"
    " \"format\": 1,\n"
    " \"title\": \"A small world\",\n"
    " \"file\": \"small.toml\",\n"
    " \"seed\": 7,\n"
    " \"seeds\": 1,\n"
    " \"interrupted\": false,\n"
    " \"runs\": [\n"
    "  {\n"
    "   \"seed\": 7,\n"
    "   \"arms\": [\n"
    "    {\n"
    "     \"name\": \"naive\",\n"
    "     \"title\": \"no policies, but retries\",\n"
    "     \"seed\": 7,\n"
    "     \"length\": 2.0,\n"
    "     \"warmup\": 0.0,\n"
    "     \"end\": 2.5,\n"
    "     \"interrupted\": false,\n"
    "     \"verdict\": \"recovered\",\n"
    "     \"recovery_from\": 0.5,\n"
    "     \"recovered_at\": 1,\n"
    "     \"recovery\": 0.5,\n"
    "     \"relapses\": [],\n"
    "     \"warnings\": [],\n"
    "     \"success\": 0.75,\n"
    "     \"amplification\": 1.5,\n"
    "     \"totals\": {\n"
    "      \"offered\": 20,\n"
    "      \"attempts\": 30,\n"
    "      \"good\": 15,\n"
    "      \"substituted\": 1,\n"
    "      \"failed\": 4,\n"
    "      \"errors\": {\"queue_full\":1,\"timeout\":3}\n"
    "     },\n"
    "     \"unanswered\": 1,\n"
    "     \"answered_twice\": 0,\n"
    "     \"latency\": {\"count\":15,\"mean\":0.005,\"p50\":0.004,\"p90"
    "\":0.008,\"p95\":0.009,\"p99\":0.0015,\"p999\":0.011,\"max\":1.0},\n"
    "     \"by_operation\": {\n"
    "      \"web.home\": {\"count\":15,\"mean\":0.005,\"p50\":0.004,\"p"
    "90\":0.008,\"p95\":0.009,\"p99\":0.0015,\"p999\":0.011,\"max\":1.0"
    "}\n"
    "     },\n"
    "     \"loads\": [\n"
    "      {\"name\":\"users\",\"success\":0.75,\"offered\":20,"
    "\"good\":15,\"substituted\":1,\"failed\":4,\"errors\":{"
    "\"queue_full\":1,\"timeout\":3},\"unanswered\":1,\"latency\":{"
    "\"count\":15,\"mean\":0.005,\"p50\":0.004,\"p90\":0.008,"
    "\"p95\":0.009,\"p99\":0.0015,\"p999\":0.011,\"max\":1.0}}\n"
    "     ],\n"
    "     \"services\": [\n"
    "      {\"name\":\"web\",\"arrivals\":30,\"refused\":3,\"shed\":2,"
    "\"down\":1,"
    "\"completed\":20,\"failed\":2,\"abandoned\":4,\"lost\":5,\"late\":"
    "6,\"started\":25,\"waited\":5,\"mean_wait\":0.002,\"mean_service\""
    ":0.003,\"mean_sojourn\":0.005,\"utilization\":0.75,\"mean_inside\""
    ":1.5,\"queue_max\":9,\"busy_max\":7,\"little_error\":0.0}\n"
    "     ],\n"
    "     \"gates\": [\n"
    "      {\"name\":\"users -> web\",\"stack\":\"careful\",\"metrics\""
    ":{\"calls\":20},\"layers\":[{\"name\":\"guard\",\"kind\":\"breaker"
    "\",\"state\":\"closed\",\"metrics\":{\"opened\":2}}]}\n"
    "     ],\n"
    "     \"breakers\": [\"users -> web.guard\"],\n"
    "     \"events\": 1234,\n"
    "     \"digest\": \"0123456789abcdef\",\n"
    "     \"step\": 1,\n"
    "     \"seconds\": [\n"
    "      {\"second\":0,\"offered\":12,\"attempts\":13,\"good\":12,\"s"
    "ubstituted\":1,\"failed\":0,\"errors\":{},\"prompt\":0,\"latency\":"
    "{\"count\":12,\"mean\":0.005,\"p50\":0.004,\"p90\":0.008,\"p95\":"
    "0.009,\"p99\":0.0015,\"p999\":0.011,\"max\":1.0},\"loads\":{"
    "\"users\":{\"offered\":12,\"good\":12,\"failed\":0}},"
    "\"services\":{\"we"
    "b\":{\"arriv"
    "als\":13,\"refused\":1,\"completed\":11,\"failed\":1,\"queue\":2,"
    "\"busy\":3,\"queue_max\":9,\"busy_max\":7,\"busy_time\":2500000}},"
    "\"breakers\":{"
    "\"users -> web.guard\":"
    "\"closed\"}},\n"
    "      {\"second\":1,\"offered\":8,\"attempts\":17,\"good\":3,\"sub"
    "stituted\":0,\"failed\":4,\"errors\":{\"queue_full\":1,\"timeout\""
    ":3},\"prompt\":0,\"latency\":{\"count\":0,\"mean\":0.0,\"p50\":0.0,"
    "\"p90\":0.0,\"p95\":0.0,\"p99\":0.0,\"p999\":0.0,\"max\":0.0},"
    "\"loads\":{\"users\":{\"offered\":8,\"good\":3,\"failed\":4}},"
    "\"services\":{\""
    "web\":{\"arrivals\":17,\"refused\":2,\"completed\":9,\"failed\":1,"
    "\"queue\":0,\"busy\":1,\"queue_max\":4,\"busy_max\":3,"
    "\"busy_time\":1}},"
    "\"breakers\":{\"users -> "
    "web.guard\":\"open\"}}\n"
    "     ]\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ],\n"
    " \"verdicts\": [\n"
    "  {\n"
    "   \"arm\": \"naive\",\n"
    "   \"runs\": 1,\n"
    "   \"recovered\": 1,\n"
    "   \"degraded\": 0,\n"
    "   \"stuck\": 0,\n"
    "   \"no_fault\": 0,\n"
    "   \"relapsed\": 0,\n"
    "   \"recovery\": {\"min\":0.5,\"median\":0.5,\"max\":0.5},\n"
    "   \"success\": {\"min\":0.75,\"median\":0.75,\"max\":0.75},\n"
    "   \"p99\": {\"min\":0.0015,\"median\":0.0015,\"max\":0.0015}\n"
    "  }\n"
    " ],\n"
    " \"failures\": [\"one\"]\n"
    "}\n";

TEST(report_json, has_everything_but_the_speed) {
  auto r = small_report();
  r.failures = {"one"};
  EXPECT_EQ(written(write_json, r), small_json);
  r.runs[0].arms[0].wall_seconds = 77;
  r.runs[0].arms[0].messages = 77;
  EXPECT_EQ(written(write_json, r), small_json);
}

TEST(report_json, has_null_for_what_never_happened) {
  auto r = small_report();
  r.interrupted = true;
  auto& arm = r.runs[0].arms[0];
  arm.recovered_at.reset();
  arm.interrupted = true;
  auto text = written(write_json, r);
  for (auto part :
       {"\n \"interrupted\": true,\n", "\n     \"interrupted\": true,\n",
        "\"verdict\": null,\n", "\"recovered_at\": null,\n",
        "\"recovery\": null,\n", "\"runs\": 0,\n",
        "\"p99\": {\"min\":null,\"median\":null,\"max\":null}\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(report_json, says_that_there_was_no_fault) {
  auto r = small_report();
  auto& arm = r.runs[0].arms[0];
  arm.recovery_from.reset();
  arm.recovered_at = 0;
  arm.verdict = verdict_kind::no_fault;
  auto text = written(write_json, r);
  for (auto part :
       {"\"verdict\": \"no fault\",\n", "\"recovery_from\": null,\n",
        "\"recovered_at\": null,\n", "\"recovery\": null,\n",
        "\"recovered\": 0,\n", "\"no_fault\": 1,\n",
        "\"recovery\": {\"min\":null,\"median\":null,\"max\":null},\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(report_json, has_relapses_and_warnings) {
  auto r = small_report();
  auto& arm = r.runs[0].arms[0];
  arm.relapses = {{12, 20}, {31, {}}};
  arm.warnings = {"look out"};
  auto text = written(write_json, r);
  for (auto part : {"{\"at\":12,\"until\":20}", "{\"at\":31,\"until\":null}",
                    "\"warnings\": [\"look out\"],\n", "\"relapsed\": 1,\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
}

TEST(report_json, replaces_bytes_that_are_no_text) {
  auto r = small_report();
  r.file = "a\xff.toml";
  EXPECT_NE(written(write_json, r).find("\"file\": \"a\xef\xbf\xbd.toml\""),
            std::string::npos);
}

} // namespace
} // namespace caisson::sim
