// Files that are not what they should be: an error, or a scenario that is good.
#include <support/rounds.hpp>

#include <simulator/import/importer.hpp>
#include <simulator/import/span_reader.hpp>
#include <simulator/scenario/random.hpp>
#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/problem.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {
namespace {

std::uint64_t below(keyed_random& random, std::uint64_t n) {
  return random.bits() % n;
}

// Spans whose ids, parents, services, kinds and times come from so few that all
// kinds of shapes occur: circles, orphans, recursion, both sides of a call.
std::string random_spans(keyed_random& random, bool jaeger) {
  std::string out;
  auto n = 1 + below(random, 40);
  auto ids = 1 + below(random, 50);
  for (std::uint64_t i = 0; i < n; ++i) {
    auto trace = 1 + below(random, 3);
    auto id = below(random, 8) == 0 ? below(random, ids) : i + 1;
    auto parent = below(random, 5) == 0 ? 0 : below(random, i + 2);
    auto service = below(random, 4);
    auto name = below(random, 3);
    auto start = 1'000'000 + below(random, 1000);
    auto lasts = below(random, 3) == 0 ? 0 : below(random, 1000);
    auto kind = below(random, 6);
    out += i == 0 ? "" : ",";
    if (jaeger)
      out += fmt::format(
        R"({{"traceID":"{:x}","spanID":"{:x}","operationName":"o{}",)"
        R"("references":[{{"refType":"{}","traceID":"{:x}","spanID":"{:x}"}}],)"
        R"("startTime":{},"duration":{},"processID":"p{}","tags":[)"
        R"({{"key":"span.kind","value":"{}"}},{{"key":"error","value":{}}},)"
        R"({{"key":"peer.service","value":"s{}"}}]}})",
        trace, id, name, below(random, 6) == 0 ? "FOLLOWS_FROM" : "CHILD_OF",
        trace, parent, start, lasts, service,
        std::vector{"", "internal", "server", "client", "producer",
                    "consumer"}[kind],
        below(random, 4) == 0, below(random, 5));
    else
      out += fmt::format(
        R"({{"resource":{{"attributes":[{{"key":"service.name","value":)"
        R"({{"stringValue":"s{}"}}}}]}},"scopeSpans":[{{"spans":[{{)"
        R"("traceId":"{:032x}","spanId":"{:016x}","parentSpanId":"{:016x}",)"
        R"("name":"o{}","kind":{},"startTimeUnixNano":"{}",)"
        R"("endTimeUnixNano":"{}","status":{{"code":{}}}}}]}}]}})",
        service, trace, id, parent, name, kind, start, start + lasts,
        below(random, 3));
  }
  return jaeger
           ? R"({"data":[{"traceID":"1","spans":[)" + out
               + R"(],"processes":{"p0":{"serviceName":"s0"},"p1":)"
                 R"({"serviceName":"s1"},"p2":{"serviceName":"clients"}}}]})"
           : R"({"resourceSpans":[)" + out + "]}";
}

// Changes, removes or repeats some bytes.
void damage(std::string& text, keyed_random& random) {
  static constexpr std::string_view pieces[] = {"\"",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "0",
                                                "-1",
                                                "1e999",
                                                "null",
                                                "true",
                                                "\\u0000",
                                                "\xff",
                                                "99999999999999999999",
                                                "4000000000000000000",
                                                "\"spans\":",
                                                "\"\"",
                                                " "};
  for (auto i = 1 + below(random, 3); i > 0 && !text.empty(); --i) {
    auto at = below(random, text.size());
    auto length = std::min<std::uint64_t>(1 + below(random, 12),
                                          text.size() - at);
    switch (below(random, 4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, pieces[below(random, std::size(pieces))]);
        break;
      case 2:
        text.replace(at, length, pieces[below(random, std::size(pieces))]);
        break;
      default:
        text.insert(at, text.substr(at, length * 20));
    }
  }
}

// Numbers at the edges of what can be counted, in place of times.
void exaggerate(std::string& text, keyed_random& random) {
  static constexpr std::string_view times[] = {"0",
                                               "1",
                                               "4000000000000000000",
                                               "4000000000000000001",
                                               "9223372036854775807",
                                               "18446744073709551615",
                                               "1e18"};
  for (auto i = 1 + below(random, 6); i > 0; --i) {
    auto at = text.find("100", below(random, text.size()));
    if (at == text.npos)
      continue;
    auto end = text.find_first_not_of("0123456789", at);
    text.replace(at, end - at, times[below(random, std::size(times))]);
  }
}

// Whether a scenario was made.
bool import_is_good(const std::string& text, times_kind times,
                    double sampling) {
  try {
    span_set spans;
    std::istringstream in{text};
    read_spans(in, "fuzz.json", span_format::any, spans);
    auto imported = scenario_from_spans(
      std::move(spans),
      {.files = {"fuzz.json"}, .times = times, .sampling = sampling});
    static_cast<void>(parse_scenario(imported.toml, "made"));
    return true;
  } catch (const config_error& e) {
    // What was made must be good.
    EXPECT_EQ(std::string{e.what()}.find("the imported scenario"),
              std::string::npos)
      << e.what();
    return false;
  }
}

void try_all(std::uint64_t usual, void (*change)(std::string&, keyed_random&),
             double least_good) {
  const auto rounds = test::rounds(usual);
  std::uint64_t good = 0;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    keyed_random random{draw_key{seed}};
    auto text = random_spans(random, seed % 2 == 0);
    if (change)
      change(text, random);
    good += import_is_good(text, static_cast<times_kind>(below(random, 3)),
                           below(random, 2) == 0 ? 1 : 0.01);
    if (testing::Test::HasFailure())
      FAIL() << text;
  }
  EXPECT_GE(static_cast<double>(good),
            least_good * static_cast<double>(rounds));
}

TEST(import_of_random_traces, makes_good_scenarios) {
  try_all(200, nullptr, 0.9);
}

TEST(import_of_random_traces, survives_damage) {
  try_all(400, &damage, 0.02);
}

TEST(import_of_random_traces, survives_strange_times) {
  try_all(200, &exaggerate, 0.5);
}

} // namespace
} // namespace caisson::sim
