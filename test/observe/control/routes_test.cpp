// Requests of an operator, and the errors of wrong ones.
#include <observe/control/control_fixture.hpp>
#include <observe/control/mute.hpp>

#include <caisson/base/random.hpp>

#include <fmt/format.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

TEST_F(control_test, nothing_is_said_without_the_token) {
  start(two_gates);
  for (const auto* token :
       {"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secret ",
        "Bearer secretx", "Bearersecret", "Basic secret"})
    for (const auto* target : {"/v1/gates", "/", "/v1/gates/payments/drain"}) {
      auto x = detail::answer_operator(
        operations, {"POST", target, {{"authorization", token}}, "{}"}, access);
      EXPECT_EQ(x.status, 401) << token;
      EXPECT_EQ(x.body.find("payments"), std::string::npos);
    }
  EXPECT_EQ(look(gates.find("payments")).state, gate_state::accepting);
  auto x = detail::answer_operator(
    operations, {"GET", "/v1/gates", {{"authorization", "bEARER secret"}}, ""},
    access);
  EXPECT_EQ(x.status, 200);
}

TEST_F(control_test, lists_all_gates_by_name) {
  start(two_gates);
  answer_of("payments", 1);
  auto all = expect(200, "GET", "/v1/gates")["gates"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["name"], "a b/ü");
  EXPECT_EQ(all[1]["name"], "payments");
  EXPECT_EQ(all[1]["state"], "accepting");
  EXPECT_EQ(all[1]["worker"], "up");
  EXPECT_EQ(all[1]["metrics"]["calls"], 1);
  EXPECT_EQ(all[1]["layers"][1]["kind"], "breaker");
  EXPECT_EQ(all[1]["layers"][1]["state"], "closed");
}

TEST_F(control_test, shows_what_a_gate_says_of_itself) {
  start(two_gates);
  answer_of("payments", 1);
  auto x = expect(200, "GET", "/v1/gates/payments");
  auto is = look(gates.find("payments"));
  EXPECT_EQ(x["name"], "payments");
  EXPECT_EQ(x["stack"], "payments");
  EXPECT_EQ(x["metrics"], json(is.metrics));
  for (std::size_t i = 0; i < is.layers.size(); ++i) {
    EXPECT_EQ(x["layers"][i]["settings"], json(is.layers[i].config));
    EXPECT_EQ(x["layers"][i]["metrics"], json(is.layers[i].metrics));
  }
  EXPECT_EQ(x["durations"].size(), is.durations.size());
  EXPECT_EQ(x["durations"][0]["count"], 1);
  EXPECT_EQ(x["tallies"].size(), is.tallies.size());
  EXPECT_EQ(x["tallies"][0]["what"], "attempts");
  EXPECT_EQ(x["tallies"][0]["sum"], 1);
  EXPECT_EQ(x["tallies"][0]["p99"], 1);
  EXPECT_EQ(x["tallies"][0]["bounds"].size() + 1,
            x["tallies"][0]["counts"].size());
  // A name with a blank, a slash and a letter of two bytes.
  EXPECT_EQ(expect(200, "GET", "/v1/gates/a%20b%2F%C3%BC")["name"], "a b/ü");
}

// What a layer says in words: a canary reports its limits.
TEST_F(control_test, shows_the_notes_of_layers) {
  start(std::string{two_gates} + R"([gates.trial]
worker = "echo"
[[gates.trial.layer]]
kind = "deadline"
[[gates.trial.layer]]
kind = "canary"
)");
  auto is = look(gates.find("trial"));
  auto x = expect(200, "GET", "/v1/gates/trial");
  ASSERT_EQ(x["layers"].size(), 2u);
  EXPECT_FALSE(x["layers"][0].contains("notes"));
  ASSERT_FALSE(is.layers[1].notes.empty());
  EXPECT_EQ(x["layers"][1]["notes"], json(is.layers[1].notes));
  EXPECT_FALSE(
    expect(200, "GET", "/v1/gates/payments")["layers"][1].contains("notes"));
}

TEST_F(control_test, carries_out_commands) {
  start(two_gates);
  auto command = [&](const std::string& body) {
    return expect(200, "POST", "/v1/gates/payments/command", body)["layers"][1];
  };
  EXPECT_EQ(
    command(
      R"({"command":"force_open","layer":"breaker","for":"1h"})")["state"],
    "forced_open");
  EXPECT_EQ(answer_of("payments", 1), "breaker_open");
  EXPECT_EQ(command(R"({"command":"enable","layer":"breaker"})")["state"],
            "closed");
  EXPECT_EQ(answer_of("payments", 1), "1");
  // Without a layer: each that knows it.
  EXPECT_EQ(command(R"({"command":"observe"})")["mode"], "observe");
}

TEST_F(control_test, changes_settings) {
  start(two_gates);
  auto x = expect(200, "POST", "/v1/gates/payments/settings",
                  R"({"layer":"breaker","set":{"threshold":7,"open":"2s",
                      "eager_half_open":true}})")["layers"][1]["settings"];
  EXPECT_EQ(x["threshold"], "7");
  EXPECT_EQ(x["open"], "constant 2s");
  EXPECT_EQ(x["eager_half_open"], "true");
}

TEST_F(control_test, refuses_what_makes_no_sense_and_says_why) {
  start(two_gates);
  struct {
    int status;
    const char* method;
    const char* target;
    const char* body;
    const char* why;
  } const rows[] = {
    {404, "GET", "", "", "unknown path"},
    {404, "GET", "/x", "", "unknown path"},
    {404, "GET", "/v1", "", "unknown path"},
    {404, "GET", "/v2/gates", "", "unknown path"},
    {404, "GET", "/v1/gates/payments/x", "", "unknown path"},
    {404, "GET", "/v1/gates/payments/command/x", "", "unknown path"},
    {405, "POST", "/v1/gates", "", "GET"},
    {405, "DELETE", "/v1/gates/payments", "", "GET"},
    {405, "GET", "/v1/gates/payments/drain", "", "POST"},
    {405, "GET", "/v1/reload", "", "POST"},
    {404, "GET", "/v1/gates/paymnts", "", "did you mean \"payments\"?"},
    {404, "GET", "/v1/gates/", "", "unknown gate \"\""},
    {404, "POST", "/v1/gates/zzzzzzzzz/drain", "", "known gates: a b/ü, pay"},
    {400, "GET", "/v1/gates?x=1", "", "query"},
    {404, "GET", "/v1/nothing?x=1", "", "unknown path"},
    {400, "GET", "/v1/gates/%zz", "", "two digits"},
    {400, "GET", "/v1/gates/%4", "", "two digits"},
    {400, "POST", "/v1/gates/payments/command", "", "\"\" is not one of"},
    {400, "POST", "/v1/gates/payments/command", "[1]", "JSON object"},
    {400, "POST", "/v1/gates/payments/command", "{", "JSON object"},
    {400, "POST", "/v1/gates/payments/command", R"({"command":1})",
     "not a string"},
    {400, "POST", "/v1/gates/payments/command", R"({"command":"explode"})",
     "force_open"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"reset","what":1})", "\"what\" is not known"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"force_open","for":"soon"})", "not a time"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"force_open","for":"-1s"})", "not a time"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"reset","layer":"nope"})", "nope"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"force_open","layer":"deadline"})", ""},
    {400, "POST", "/v1/gates/payments/command",
     "{\"command\":\"reset\",\"layer\":\"a\\u0000b\"}", "b\"; known: "},
    {400, "POST", "/v1/gates/payments/settings", R"({"set":{"threshold":1}})",
     "name one of its layers: deadline, breaker"},
    {400, "POST", "/v1/gates/payments/settings", "{}", "set"},
    {400, "POST", "/v1/gates/payments/settings", R"({"set":{}})", "set"},
    {400, "POST", "/v1/gates/payments/settings",
     R"({"layer":"breaker","set":{"threshold":[1]}})", "\"threshold\""},
    {400, "POST", "/v1/gates/payments/settings",
     R"({"layer":"breaker","set":{"threshold":0}})", "breaker.threshold"},
    {400, "POST", "/v1/gates/payments/settings",
     R"({"layer":"breaker","set":{"threshld":1}})", "did you mean"},
    {400, "POST", "/v1/gates/payments/drain", R"({"wait":"11s"})", "wait"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"reset","command":"force_open"})",
     "\"command\" is given twice"},
    {400, "POST", "/v1/gates/payments/command",
     R"({"command":"force_open","for":"9999999h"})",
     "is not a time from 0s to 2562047h, or unlimited"},
    {400, "POST", "/v1/gates/payments/settings",
     R"({"layer":"breaker","set":{"threshold":1,"open":"1s","threshold":2}})",
     "\"threshold\" is given twice"},
    {400, "POST", "/v1/gates/payments/drain",
     R"({"wait":"0s","wait":[{"a":1},{"a":2}]})", "\"wait\" is given twice"},
    {400, "POST", "/v1/gates/payments/drain", R"({"wait":[{"a":1},{"a":2}]})",
     "wait is not a string"},
    {400, "GET", "/v1/events?wait=0s&wait=1s", "", "\"wait\" is given twice"},
    {400, "GET", "/v1/events?after=x", "", "cursor"},
    {400, "GET", "/v1/events?after=1-2", "", "cursor"},
    {400, "GET", "/v1/events?after=1-2-3-4", "", "cursor"},
    {400, "GET", "/v1/events?wait=1h", "", "wait"},
    {400, "GET", "/v1/events?what=1", "", "\"what\""},
  };
  for (const auto& row : rows)
    EXPECT_NE(
      refused(row.status, row.method, row.target, row.body).find(row.why),
      std::string::npos)
      << row.method << ' ' << row.target << ' ' << row.body << ": "
      << refused(row.status, row.method, row.target, row.body);
  EXPECT_EQ(answer_of("payments", 1), "1");
}

TEST_F(control_test, any_request_has_an_answer_in_json) {
  start(two_gates);
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  random_source random{seed};
  const std::string parts[] = {"/",        "v1",       "gates",
                               "payments", "settings", "events",
                               "?after=",  "%",        "..",
                               "%2",       "\xff",     "{",
                               "}",        "\"set\":", "&",
                               "1",        "command",  "[",
                               "\"",       "-",        std::string(1, 0)};
  for (int i = 0; i < 20'000; ++i) {
    auto text = [&](std::size_t most) {
      std::string out;
      for (auto n = random.below(most); n > 0; --n)
        out += parts[random.below(std::size(parts))];
      return out;
    };
    auto method = random.below(2) == 0 ? "GET" : "POST";
    auto x = ask(method, "/v1/" + text(6), text(4));
    EXPECT_TRUE(json::accept(x.body)) << x.body;
    EXPECT_TRUE(x.status == 200 || (x.status >= 400 && x.status <= 405))
      << x.status;
  }
}

// -- gates that do not answer -------------------------------------------------

TEST_F(control_test, a_gate_that_has_ended_or_is_stuck_does_not_hide_others) {
  start(two_gates);
  detail::control_operations impatient{*sys, 50ms, 10};
  auto ended = spawn_gate(*sys, worker{}, stack{"ended"});
  auto silent = sys->spawn(mute<get_status, status>);
  impatient.gates().add("well", gates.find("payments"));
  impatient.gates().add("ended", ended);
  impatient.gates().add("mute", control_handle{silent});
  {
    caf::scoped_actor self{*sys};
    self->monitor(ended);
    stop_gate(ended);
    self->receive([](const caf::down_msg&) {});
  }
  auto all = impatient.list()["gates"];
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["error"], "ended has ended");
  EXPECT_EQ(all[1]["error"], "mute does not answer within 50 ms");
  EXPECT_EQ(all[2]["state"], "accepting");
  struct {
    const char* gate;
    int status;
  } const rows[] = {{"ended", 410}, {"mute", 504}};
  for (const auto& row : rows)
    try {
      auto x = impatient.show(row.gate);
      ADD_FAILURE() << x;
    } catch (const detail::control_error& e) {
      EXPECT_EQ(e.status(), row.status);
    }
  try {
    auto x = impatient.drain("ended", 1h);
    ADD_FAILURE() << x;
  } catch (const detail::control_error& e) {
    EXPECT_EQ(e.status(), 410);
  }
  caf::anon_send_exit(silent, caf::exit_reason::kill);
}

TEST_F(control_test, functions_of_the_program_may_throw) {
  detail::control_operations other{*sys, 1s, 10};
  other.gates().add(
    {[]() -> std::vector<std::string> { throw std::runtime_error{"boom"}; },
     [](std::string_view) -> control_handle { throw 7; },
     {}});
  auto ask_other = [&](const char* target) {
    return detail::answer_operator(
      other, {"GET", target, {{"authorization", "Bearer secret"}}, ""}, access);
  };
  EXPECT_EQ(ask_other("/v1/gates").status, 500);
  EXPECT_NE(ask_other("/v1/gates").body.find("boom"), std::string::npos);
  EXPECT_EQ(ask_other("/v1/gates/x").status, 500);
}

// -- drain and reload ---------------------------------------------------------

TEST_F(control_test, a_drain_reports_whether_the_last_call_is_answered) {
  names.add_factory("mute", [](caf::actor_system& home) {
    return caf::expected<caf::actor>{home.spawn(mute<int, int>)};
  });
  start(std::string{two_gates} + "[gates.slow]\nworker = \"mute\"\n");
  EXPECT_EQ(expect(200, "POST", "/v1/gates/payments/drain",
                   R"({"wait":"10s"})")["drained"],
            true);
  EXPECT_EQ(answer_of("payments", 1), "draining");
  caf::anon_send(gates.find("slow"), 1);
  while (look(gates.find("slow")).metric("in_progress") == 0)
    std::this_thread::yield();
  auto wait = [&](const char* time) {
    return expect(200, "POST", "/v1/gates/slow/drain",
                  fmt::format(R"({{"wait":"{}"}})", time))["drained"];
  };
  EXPECT_EQ(wait("0s"), false);
  // However often: the gate is notified once.
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(wait("1us"), false);
  // Waiting requests end when the server ends.
  std::thread closing{[&] {
    while (look(gates.find("slow")).metric("in_progress") == 0)
      std::this_thread::yield();
    operations.close();
  }};
  EXPECT_EQ(wait("10s"), false);
  closing.join();
}

TEST_F(control_test, a_reload_reports_what_has_changed_or_why_not) {
  start(two_gates);
  write("[gates.payments]\nworker = \"echo\"\n");
  auto x = expect(200, "POST", "/v1/reload", R"({"why":"test"})")["files"];
  ASSERT_EQ(x.size(), 1u);
  EXPECT_TRUE(x[0]["problems"].empty());
  EXPECT_EQ(x[0]["changes"].size(), 3u) << x[0]["changes"];
  EXPECT_EQ(expect(200, "GET", "/v1/gates")["gates"].size(), 1u);
  write("[gates.payments]\nworker = 7\n");
  x = expect(200, "POST", "/v1/reload")["files"];
  EXPECT_EQ(x[0]["problems"].size(), 1u);
  EXPECT_TRUE(x[0]["changes"].empty());
  detail::control_operations other{*sys, 1s, 10};
  EXPECT_THROW(static_cast<void>(other.reload("")), detail::control_error);
}

TEST_F(control_test, a_reload_goes_on_without_sets_that_have_ended) {
  start(two_gates);
  auto first = gates;
  start(two_gates);
  first.stop();
  while (!portable::is_down(first.controller()))
    std::this_thread::yield();
  write("[gates.payments]\nworker = \"echo\"\n");
  auto x = expect(200, "POST", "/v1/reload")["files"];
  ASSERT_EQ(x.size(), 1u);
  EXPECT_EQ(x[0]["changes"].size(), 3u) << x;
  auto last = gates.controller();
  gates.stop();
  while (!portable::is_down(last))
    std::this_thread::yield();
  EXPECT_EQ(refused(410, "POST", "/v1/reload"),
            "the gates that come from files have ended");
}

// Whoever asks again learns how it is by then.
TEST_F(control_test, a_drain_that_was_refused_is_not_remembered) {
  auto silent = sys->spawn(mute<int, int>);
  names.add("mute", worker{silent});
  start("[gates.slow]\nworker = \"mute\"\n");
  auto slow = gates.find("slow");
  caf::anon_send(slow, 1);
  while (look(slow).metric("in_progress") == 0)
    std::this_thread::yield();
  caf::scoped_actor self{*sys};
  auto ask_drain = [&] {
    return portable::ask_urgently(self, slow, patience, caisson::drain{});
  };
  std::vector<decltype(ask_drain())> waiting;
  for (std::size_t i = 0; i < max_drains; ++i)
    waiting.push_back(ask_drain());
  auto drain_by_operator = [&](int status) {
    return expect(status, "POST", "/v1/gates/slow/drain", R"({"wait":"10s"})");
  };
  EXPECT_EQ(drain_by_operator(400)["error"],
            "too many pending drain requests (max 256)");
  caf::anon_send_exit(silent, caf::exit_reason::kill);
  for (auto& x : waiting)
    std::move(x).receive([] {}, [](const caf::error&) {});
  EXPECT_EQ(drain_by_operator(200)["drained"], true);
}

} // namespace
} // namespace caisson::test
