// The model of `caisson top`: rates, states, rejections, events.
#include <ctl/connection.hpp>
#include <ctl/top/model.hpp>
#include <ctl/top/reader.hpp>

#include <observe/control/top_gates.hpp>

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <random>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using ctl::call_history;
using ctl::grade;
using ctl::top_model;

constexpr auto least_number = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest_number = std::numeric_limits<std::int64_t>::max();

// -- rates --------------------------------------------------------------------

struct history_step {
  double at;
  ctl::call_counts counts;
  std::optional<double> calls;
  std::optional<double> success;
};

TEST(top_history, has_rates_of_the_last_five_seconds) {
  const history_step steps[] = {{0, {100, 90, 10}, {}, {}},
                                {1, {110, 98, 12}, 10, 0.8},
                                // The same instant again adds nothing.
                                {1, {999, 999, 999}, 10, 0.8},
                                {2, {110, 98, 12}, 5, 0.8},
                                // From 1 s on.
                                {6, {160, 148, 12}, 10, 1},
                                // Counters that fall begin anew.
                                {7, {5, 5, 0}, {}, {}},
                                {8, {9, 9, 0}, 4, 1},
                                {9, {10, 8, 2}, {}, {}},
                                // And so does what was not seen for long.
                                {25, {20, 18, 2}, {}, {}},
                                {26, {20, 18, 2}, 0, {}},
                                // The clock steps back.
                                {20, {30, 28, 2}, 0, {}},
                                {27, {40, 38, 2}, 10, 1}};
  call_history x;
  for (const auto& step : steps) {
    x.take(step.counts, top_time(step.at), 15s);
    EXPECT_EQ(x.calls_per_second().has_value(), step.calls.has_value())
      << step.at;
    EXPECT_NEAR(x.calls_per_second().value_or(0), step.calls.value_or(0), 1e-9)
      << step.at;
    EXPECT_EQ(x.success().has_value(), step.success.has_value()) << step.at;
    EXPECT_NEAR(x.success().value_or(0), step.success.value_or(0), 1e-9)
      << step.at;
  }
}

TEST(top_history, has_a_bar_for_every_five_seconds) {
  call_history x;
  std::int64_t calls = 0;
  for (int second = 0; second <= 12; ++second) {
    calls += second < 5 ? 10 : 20;
    x.take({calls, calls, 0}, top_time(second), 15s);
  }
  auto bars = x.bars(5, top_time(12));
  ASSERT_EQ(bars.size(), 5u);
  EXPECT_FALSE(bars[0].calls_per_second);
  EXPECT_FALSE(bars[1].calls_per_second);
  EXPECT_NEAR(bars[2].calls_per_second.value_or(0), 10, 1e-9);
  EXPECT_NEAR(bars[3].calls_per_second.value_or(0), 20, 1e-9);
  EXPECT_NEAR(bars[4].calls_per_second.value_or(0), 20, 1e-9);
  // Long after, nothing is known of now, and nothing old is shown as new.
  for (const auto& bar : x.bars(1'000, top_time(1'000)))
    EXPECT_FALSE(bar.calls_per_second);
  EXPECT_EQ(x.bars(1'000, top_time(12)).size(), call_history::steps);
}

TEST(top_history, takes_any_numbers) {
  call_history x;
  x.take({least_number, least_number, least_number}, top_time(0), 15s);
  x.take({greatest_number, greatest_number, greatest_number}, top_time(1), 15s);
  EXPECT_NEAR(*x.calls_per_second() / 0x1p64, 1, 1e-9);
  EXPECT_NEAR(*x.success(), 0.5, 1e-9);
}

// Against all samples, kept, from which the rate is found by searching.
TEST(top_history, is_as_a_search_through_all_samples) {
  std::mt19937 random{7};
  auto upto = [&](int n) {
    return std::uniform_int_distribution<int>{0, n}(random);
  };
  for (int run = 0; run < 200; ++run) {
    call_history x;
    struct seen {
      std::int64_t ms;
      ctl::call_counts counts;
    };
    std::vector<seen> all;
    std::int64_t ms = 0;
    ctl::call_counts counts;
    for (int i = 0; i < 100; ++i) {
      ms += upto(20) == 0 ? upto(30'000) : upto(2'000);
      if (upto(30) == 0)
        counts = {};
      counts.calls += upto(50);
      counts.succeeded += upto(30);
      counts.failed += upto(5);
      auto fell = !all.empty()
                  && (counts.calls < all.back().counts.calls
                      || counts.succeeded < all.back().counts.succeeded
                      || counts.failed < all.back().counts.failed);
      if (all.empty() || ms > all.back().ms) {
        if (!all.empty() && (fell || ms - all.back().ms > 15'000))
          all.clear();
        all.push_back({ms, counts});
      }
      x.take(counts, top_time(static_cast<double>(ms) / 1'000), 15s);
      // The newest one that is at least five seconds old, or the first.
      auto from = all.front();
      for (std::size_t k = 0; k + 1 < all.size(); ++k)
        if (all[k].ms <= ms - 5'000)
          from = all[k];
      auto to = all.back();
      ASSERT_EQ(x.calls_per_second().has_value(), to.ms > from.ms);
      if (to.ms <= from.ms)
        continue;
      auto expected = static_cast<double>(to.counts.calls - from.counts.calls)
                      / (static_cast<double>(to.ms - from.ms) / 1'000);
      ASSERT_NEAR(*x.calls_per_second(), expected, 1e-3 + expected * 1e-4);
    }
  }
}

// -- states -------------------------------------------------------------------

struct state_case {
  top_gate gate;
  grade how;
  std::string condition;
};

TEST(top_model, says_the_worst_of_a_gate) {
  const state_case cases[] = {
    {{.name = "a"}, grade::good, "accepting"},
    {{.name = "a", .worker = "none"}, grade::good, "accepting"},
    {{.name = "a", .state = "draining"}, grade::strained, "draining"},
    {{.name = "a", .worker = "down"}, grade::bad, "worker down"},
    {{.name = "a", .worker = "restarting"},
     grade::strained,
     "worker restarting"},
    {{.name = "a", .layers = {top_layer("breaker", "closed")}},
     grade::good,
     "accepting"},
    {{.name = "a", .layers = {top_layer("breaker", "half_open")}},
     grade::strained,
     "breaker half open"},
    {{.name = "a",
      .state = "draining",
      .layers = {top_layer("breaker", "half_open"), top_layer("b2", "open")}},
     grade::bad,
     "b2 open +2"},
    {{.name = "a", .layers = {top_layer("breaker", "open", {}, "observe")}},
     grade::strained,
     "breaker open (observe)"},
    {{.name = "a", .layers = {top_layer("limiter", "", {}, "off")}},
     grade::strained,
     "limiter (off)"}};
  for (const auto& x : cases) {
    top_model model{1s};
    model.take_list(top_list({x.gate}), top_time(0));
    ASSERT_EQ(model.gates().size(), 1u);
    EXPECT_EQ(model.gates()[0].how, x.how) << x.condition;
    EXPECT_EQ(model.gates()[0].condition, x.condition);
    EXPECT_EQ(model.gates()[0].waiting, 5);
  }
}

TEST(top_model, a_gate_without_an_answer_says_why) {
  top_model model{1s};
  model.take_list(top_list({{.name = "a", .calls = 5}}), top_time(0));
  model.take_list({{"gates", {{{"name", "a"}, {"error", "it has ended"}}}}},
                  top_time(1));
  EXPECT_EQ(model.gates()[0].error, "it has ended");
  EXPECT_EQ(model.gates()[0].how, grade::bad);
  EXPECT_EQ(model.gates()[0].condition, "no answer");
  // And begins anew.
  model.take_list(top_list({{.name = "a", .calls = 50}}), top_time(2));
  EXPECT_EQ(model.gates()[0].error, "");
  EXPECT_FALSE(model.gates()[0].history.calls_per_second());
}

TEST(top_model, a_gate_that_goes_is_forgotten) {
  top_model model{1s};
  model.take_list(top_list({{.name = "a"}, {.name = "b"}}), top_time(0));
  model.take_list(top_list({{.name = "b"}, {.name = "b", .calls = 9}}),
                  top_time(1));
  ASSERT_EQ(model.gates().size(), 1u);
  EXPECT_EQ(model.find("a"), nullptr);
  ASSERT_NE(model.find("b"), nullptr);
  EXPECT_EQ(model.find("b")->history.calls_per_second(), 0);
  // An answer that was on its way is no gate.
  model.take_gate("a", top_row({.name = "a"}), top_time(1));
  EXPECT_EQ(model.gates().size(), 1u);
  model.take_list(top_list({{.name = "a", .calls = 9}}), top_time(2));
  EXPECT_FALSE(model.find("a")->history.calls_per_second());
}

// -- rejections ---------------------------------------------------------------

TEST(top_model, counts_what_was_rejected_and_by_what) {
  top_model model{1s};
  auto gate = [](std::int64_t open, std::int64_t full, std::int64_t draining,
                 std::int64_t cache) {
    return top_gate{
      .name = "a",
      .layers = {top_layer("breaker", "open",
                           {{"rejected_open", open}, {"refused", 1'000}}),
                 top_layer("cache", "", {{"evicted", cache}}),
                 top_layer("semaphore", "", {{"queue_full", full}})},
      .more = {{"refused_draining", draining}}};
  };
  auto take = [&](const top_gate& x, double at) {
    model.take_list(top_list({x}), top_time(at));
    model.take_gate("a", top_row(x), top_time(at));
    return model.gates()[0];
  };
  EXPECT_FALSE(take(gate(100, 100, 0, 0), 0).rejected);
  auto x = take(gate(130, 110, 0, 500), 2);
  EXPECT_EQ(x.rejected, 20);
  EXPECT_EQ(x.main_reason, "breaker rejected open");
  x = take(gate(131, 110, 9, 900), 4);
  EXPECT_EQ(x.rejected, 5);
  EXPECT_EQ(x.main_reason, "refused draining");
  // One that falls begins anew, the others go on.
  x = take(gate(0, 120, 9, 900), 5);
  EXPECT_EQ(x.rejected, 10);
  EXPECT_EQ(x.main_reason, "semaphore queue full");
  x = take(gate(0, 120, 9, 900), 6);
  EXPECT_EQ(x.rejected, 0);
  EXPECT_EQ(x.main_reason, "");
  // Not after a loss.
  model.lose("it has ended");
  EXPECT_EQ(model.error(), "it has ended");
  EXPECT_FALSE(take(gate(500, 120, 9, 900), 7).rejected);
  EXPECT_EQ(model.error(), "");
}

TEST(top_model, a_gate_that_sheds_says_so) {
  top_model model{1s};
  auto take = [&](std::int64_t shed, std::int64_t full, double at) {
    top_gate x{.name = "a",
               .layers = {top_layer("shedder", "", {{"shed_cpu", shed}}),
                          top_layer("pool", "", {{"queue_full", full}})}};
    model.take_gate("a", top_row(x), top_time(at));
    model.take_list(top_list({x}), top_time(at));
    return model.gates()[0].condition;
  };
  EXPECT_EQ(take(0, 0, 0), "accepting");
  take(0, 0, 1);
  EXPECT_EQ(take(5, 0, 2), "shedding");
  EXPECT_EQ(take(5, 3, 3), "rejecting");
  EXPECT_EQ(take(5, 3, 4), "accepting");
}

TEST(top_model, has_the_times_of_calls_that_succeeded) {
  top_model model{1s};
  model.take_list(top_list({{.name = "a"}}), top_time(0));
  EXPECT_FALSE(model.gates()[0].p50);
  auto row = top_row({.name = "a"});
  auto time = [](const char* what, bool ok, int count, std::int64_t ns) {
    return answer{{"what", what},
                  {"ok", ok},
                  {"count", count},
                  {"p50_ns", ns},
                  {"p99_ns", 2 * ns}};
  };
  row["durations"] = {time("calls", false, 5, 7), time("waits", true, 5, 8),
                      time("calls", true, 5, 1'000)};
  model.take_gate("a", row, top_time(0));
  EXPECT_EQ(model.gates()[0].p50, 1us);
  EXPECT_EQ(model.gates()[0].p99, 2us);
  row["durations"] = answer::array({time("calls", true, 0, 0)});
  model.take_gate("a", row, top_time(1));
  EXPECT_FALSE(model.gates()[0].p50);
}

// -- the opened gate, events --------------------------------------------------

TEST(top_model, keeps_two_answers_about_the_opened_gate) {
  top_model model{1s};
  model.open("a");
  model.take_gate("b", top_row({.name = "b"}), top_time(0));
  EXPECT_TRUE(model.opened().now.is_null());
  model.take_gate("a", top_row({.name = "a", .calls = 1}), top_time(0));
  EXPECT_TRUE(model.opened().before.is_null());
  model.take_gate_error("b", "no");
  EXPECT_EQ(model.opened().error, "");
  model.take_gate_error("a", "it has ended");
  EXPECT_EQ(model.opened().error, "it has ended");
  model.take_gate("a", top_row({.name = "a", .calls = 2}), top_time(1));
  EXPECT_EQ(model.opened().error, "");
  EXPECT_EQ(model.opened().before["metrics"]["calls"], 1);
  EXPECT_EQ(model.opened().now["metrics"]["calls"], 2);
  // Opened again it is another one.
  model.open("");
  model.open("a");
  EXPECT_TRUE(model.opened().now.is_null());
}

answer top_event(const std::string& gate, const std::string& kind,
                 const std::string& text) {
  return {{"event", {{"gate", gate}, {"kind", kind}, {"time", "t"}}},
          {"text", text}};
}

std::string texts_of(const top_model& model, const char* stack) {
  std::string out;
  for (const auto& x : model.events_of(stack))
    out += x.text.substr(0, 20) + '*' + std::to_string(x.count) + '\n';
  return out;
}

TEST(top_model, counts_the_same_event_of_other_calls) {
  top_model model{1s};
  model.take_events(
    {{"events",
      {top_event("a", "rejected", "rejected, delay 5 s, call 1"),
       top_event("b", "rejected", "rejected, call 9"),
       top_event("a", "opened", "opened"),
       top_event("a", "rejected", "rejected, delay 4 s, call 2")}},
     {"missed", 0}});
  EXPECT_EQ(texts_of(model, "a"), "opened*1\nrejected*2\n");
  model.take_events({{"events", {top_event("a", "rejected", "x, call 3")}}});
  EXPECT_EQ(texts_of(model, "a"), "opened*1\nx*3\n");
  EXPECT_EQ(texts_of(model, "b"), "rejected, call 9*1\n");
  EXPECT_EQ(texts_of(model, "c"), "");
  // Not if it was long ago.
  for (int i = 0; i < 8; ++i)
    model.take_events(
      {{"events", {top_event("a", std::to_string(i), "other")}}});
  model.take_events({{"events", {top_event("a", "rejected", "y, call 4")}}});
  EXPECT_EQ(model.events_of("a").back().count, 1u);
}

TEST(top_model, keeps_the_latest_events) {
  top_model model{1s};
  for (int i = 0; i < 1'500; ++i)
    model.take_events(
      {{"events",
        {top_event("a", std::to_string(i),
                   std::to_string(i) + std::string(5'000, 'x'))}},
       {"missed", i % 2}});
  model.take_events({{"events", answer::array()}, {"missed", nullptr}});
  EXPECT_EQ(model.events_of("a").size(), top_model::most_events);
  EXPECT_THAT(model.events_of("a").back().text, testing::StartsWith("1499x"));
  EXPECT_LE(model.events_of("a").back().text.size(), 512u);
  EXPECT_EQ(model.missed_events(), 750u);
  // Names that are no gates' are not kept without end.
  model.take_list(top_list({{.name = "a"}}), top_time(0));
  for (int i = 0; i < 5'000; ++i)
    model.take_events({{"events", {top_event(std::to_string(i), "k", "t")}}});
  EXPECT_EQ(model.events_of("a").size(), top_model::most_events);
  EXPECT_EQ(texts_of(model, "0"), "");
  EXPECT_EQ(texts_of(model, "4999"), "t*1\n");
}

// -- answers that make no sense -----------------------------------------------

TEST(top_model, other_answers_are_trouble_and_change_no_gate) {
  top_model model{1s};
  model.take_list(top_list({{.name = "a", .calls = 5}}), top_time(0));
  for (const auto* text :
       {"{}", "[]", "null", "5", R"({"gates":{}})", R"({"gates":[1]})",
        R"({"gates":[{"name":"b"},{"name":1}]})",
        R"({"gates":[{"name":"b","metrics":[]}]})",
        R"({"gates":[{"name":"b","metrics":{"calls":"5"}}]})",
        R"({"gates":[{"name":"b","layers":[5]}]})",
        R"({"gates":[{"name":"b","layers":[{"state":5}]}]})"}) {
    ctl::gate_update update;
    update.at = top_time(1);
    update.list = answer::parse(text);
    ctl::take(model, update);
    EXPECT_THAT(model.error(), testing::HasSubstr("of this version")) << text;
    ASSERT_EQ(model.gates().size(), 1u) << text;
    EXPECT_EQ(model.gates()[0].name, "a") << text;
  }
  // What is missing is nothing.
  model.take_list(answer::parse(R"({"gates":[{"name":"b"},{}]})"), top_time(2));
  EXPECT_EQ(model.error(), "");
  EXPECT_EQ(model.gates().size(), 2u);
}

TEST(top_model, takes_numbers_of_any_size) {
  for (const auto* number :
       {"1e300", "-1e300", "18446744073709551615", "-9223372036854775808",
        "9223372036854775807", "0.5"}) {
    top_model model{1s};
    for (int i = 0; i < 3; ++i) {
      auto row = answer::parse(
        std::string{R"({"name":"a","state":"accepting","layers":[],)"}
        + R"("metrics":{"calls":)" + (i == 1 ? number : "0") + R"(,"held":)"
        + number + R"(,"waiting_for_worker":)" + number + R"(,"refused_full":)"
        + (i == 1 ? number : "0") + R"(},"durations":[{"what":"calls","count":)"
        + number + R"(,"p50_ns":)" + number + "}]}");
      model.take_list({{"gates", {row}}}, top_time(i));
      model.take_gate("a", row, top_time(i));
    }
    EXPECT_GE(model.gates()[0].waiting, 0) << number;
  }
}

} // namespace
} // namespace caisson::test
