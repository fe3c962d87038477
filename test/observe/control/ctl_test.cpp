// `caisson ctl` and a server, with everything between them.
#include <caisson/observe/control/server.hpp>

#include <ctl/command.hpp>
#include <ctl/connection.hpp>
#include <ctl/views.hpp>
#include <observe/control/mute.hpp>
#include <support/real_gates.hpp>
#include <system/sockets.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include <sys/stat.h>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using testing::HasSubstr, testing::Not, testing::StartsWith;

struct ctl_output {
  int status = -1;
  std::string out, err;
};

ctl_output type(std::vector<std::string> words, ctl::ctl_parts parts = {}) {
  words.insert(words.begin(), "ctl");
  std::vector<const char*> argv;
  for (const auto& x : words)
    argv.push_back(x.c_str());
  if (!parts.sleep)
    parts.sleep = [](duration) {};
  std::ostringstream out, err;
  auto status = ctl::command_main(static_cast<int>(argv.size()), argv.data(),
                                  out, err, parts);
  return {status, out.str(), err.str()};
}

class ctl_test : public real_gates {
protected:
  ctl_test() {
    write("[gates.payments]\nworker = \"echo\"\n"
          "[[gates.payments.layer]]\nkind = \"breaker\"\nthreshold = 2\n"
          "[[gates.payments.layer]]\nkind = \"limiter\"\nrate = 1000\n"
          "[gates.catalog]\nworker = \"echo\"\n");
    gates = spawn_gates(*sys, dir / "gates.toml", names);
    server.emplace(*sys, control_config{.file = control()});
    server->add(gates);
  }

  std::string control() const { return (dir / "control").string(); }

  ctl_output ctl(std::vector<std::string> words,
                 ctl::ctl_parts parts = {}) const {
    words.insert(words.begin(), {"--file", control()});
    return type(std::move(words), std::move(parts));
  }

  // Its output, if it was done.
  std::string done(std::vector<std::string> words,
                   ctl::ctl_parts parts = {}) const {
    auto x = ctl(std::move(words), std::move(parts));
    EXPECT_EQ(x.status, 0) << x.err;
    EXPECT_EQ(x.err, "");
    return x.out;
  }

  // Why not.
  std::string refused(std::vector<std::string> words) const {
    auto x = ctl(std::move(words));
    EXPECT_EQ(x.status, 2) << x.out;
    EXPECT_EQ(x.out, "");
    return x.err;
  }

  std::optional<control_server> server;
};

// -- status -------------------------------------------------------------------

TEST_F(ctl_test, lists_gates) {
  EXPECT_EQ(done({"list"}),
            "gate      state      worker  calls  failed  in progress  layers "
            "that need attention\n"
            "catalog   accepting  up          0       0            0\n"
            "payments  accepting  up          0       0            0\n");
  done({"force_open", "payments"});
  done({"observe", "payments", "--layer", "limiter"});
  EXPECT_THAT(done({"list"}),
              HasSubstr("breaker forced_open, limiter (observe)"));
}

TEST_F(ctl_test, shows_the_layers_of_a_gate_with_their_numbers) {
  caf::scoped_actor self{*sys};
  auto call = [&] {
    portable::ask_blocking(self, gates.find("payments"), patience, 1)
      .receive([](int) {}, [](const caf::error&) { ADD_FAILURE(); });
  };
  call();
  auto text = done({"show", "payments"});
  EXPECT_THAT(text, StartsWith("payments: accepting, worker up\n"));
  EXPECT_THAT(text, HasSubstr("calls 1"));
  EXPECT_THAT(text, HasSubstr("\nbreaker  breaker  enforce  closed  admitted"));
  EXPECT_THAT(text, HasSubstr("\nlimiter  limiter  enforce          tokens "));
  EXPECT_THAT(text, HasSubstr("\ncalls     ok           1"));
  // What has changed, each time.
  time_point now{5s};
  text = done({"show", "payments", "--count", "2"},
              {.columns = [] { return std::size_t{200}; },
               .sleep =
                 [&](duration d) {
                   EXPECT_EQ(d, 1s);
                   call();
                   now += 2s;
                 },
               .now = [&] { return now; }});
  EXPECT_THAT(text, HasSubstr("calls 2 (+1, 0.5/s)"));
  EXPECT_THAT(text, HasSubstr("admitted 2 (+1, 0.5/s)"));
}

TEST_F(ctl_test, draws_again_on_a_cleared_screen) {
  auto text = done(
    {"list", "--every", "100ms", "--count", "3"},
    {.terminal = true, .sleep = [](duration d) { EXPECT_EQ(d, 100ms); }});
  std::size_t n = 0;
  for (auto at = text.find("\x1b[H\x1b[J"); at != std::string::npos;
       at = text.find("\x1b[H\x1b[J", at + 1))
    ++n;
  EXPECT_EQ(n, 3u);
  EXPECT_THAT(done({"list", "--count", "3"}), Not(HasSubstr("\x1b")));
}

TEST_F(ctl_test, prints_json_of_everything) {
  for (const auto& words : std::vector<std::vector<std::string>>{
         {"list"},
         {"show", "payments"},
         {"force_open", "payments", "--for", "1s"},
         {"enable", "payments"},
         {"set", "payments", "--layer", "breaker", "threshold=3"},
         {"reload"},
         {"drain", "catalog"}}) {
    auto with = words;
    with.push_back("--json");
    auto text = done(with);
    EXPECT_TRUE(nlohmann::json::accept(text)) << words[0] << ": " << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
  }
}

// -- changing -----------------------------------------------------------------

TEST_F(ctl_test, forces_breakers_and_lets_them_go) {
  EXPECT_EQ(done({"force_open", "payments", "--layer", "breaker"}),
            "layer    mode     state\nbreaker  enforce  forced_open\n");
  EXPECT_EQ(look(gates.find("payments")).layer("breaker").state, "forced_open");
  EXPECT_EQ(done({"enable", "payments", "--layer", "breaker"}),
            "layer    mode     state\nbreaker  enforce  closed\n");
  done({"force_closed", "payments", "--for", "1h"});
  EXPECT_EQ(look(gates.find("payments")).layer("breaker").state,
            "forced_closed");
}

TEST_F(ctl_test, changes_settings) {
  EXPECT_EQ(
    done({"set", "payments", "--layer", "breaker", "threshold=7", "open=3s"}),
    "layer    setting    value\n"
    "breaker  open       constant 3s\n"
    "breaker  threshold  7\n");
  auto is = look(gates.find("payments")).layer("breaker").config;
  EXPECT_EQ(is["threshold"], "7");
  EXPECT_EQ(is["open"], "constant 3s");
  EXPECT_THAT(done({"show", "payments", "--settings", "--layer", "breaker"}),
              HasSubstr("  threshold               7\n"));
  EXPECT_THAT(refused({"set", "payments", "--layer", "breaker", "threshold=x"}),
              HasSubstr("breaker.threshold"));
  EXPECT_THAT(refused({"set", "payments", "--layer", "breaker", "threshold"}),
              HasSubstr("is not of the form SETTING=VALUE"));
  EXPECT_THAT(refused({"set", "payments", "=7"}),
              HasSubstr("is not of the form SETTING=VALUE"));
}

TEST_F(ctl_test, wants_to_know_which_layer_if_there_are_several) {
  EXPECT_EQ(refused({"set", "payments", "mode=off"}),
            "caisson ctl: several layers of payments have that setting: say "
            "which with --layer; breaker, limiter\n");
  EXPECT_EQ(refused({"set", "payments", "treshold=7"}),
            "caisson ctl: no layer of payments has a setting \"treshold\", did "
            "you mean \"threshold\"? --layer names the layer: breaker, "
            "limiter\n");
  EXPECT_EQ(refused({"set", "payments", "threshold=7", "burst=2"}),
            "caisson ctl: no layer of payments has all these settings: change "
            "one layer at a time\n");
  EXPECT_EQ(refused({"set", "catalog", "threshold=7"}),
            "caisson ctl: the gate has no layers\n");
  write("[gates.payments]\nworker = \"echo\"\n"
        "[[gates.payments.layer]]\nkind = \"breaker\"\n");
  done({"reload"});
  EXPECT_THAT(done({"set", "payments", "threshold=7"}),
              HasSubstr("breaker  threshold  7\n"));
}

TEST_F(ctl_test, needs_no_layer_for_a_setting_that_one_layer_has) {
  EXPECT_EQ(done({"set", "payments", "threshold=7", "open.base=3s"}),
            "layer    setting    value\n"
            "breaker  threshold  7\n");
  EXPECT_EQ(done({"set", "payments", "burst=5"}), "layer    setting  value\n"
                                                  "limiter  burst    5\n");
}

TEST_F(ctl_test, takes_words_with_a_hyphen) {
  EXPECT_THAT(done({"force-open", "payments", "--for", "1h"}),
              HasSubstr("forced_open"));
  EXPECT_THAT(done({"force-closed", "payments"}), HasSubstr("forced_closed"));
}

TEST_F(ctl_test, drains_gates) {
  EXPECT_EQ(done({"drain", "catalog"}), "drained: the last call is answered\n");
  // The answer is there, and waits to be asked for.
  EXPECT_EQ(done({"drain", "catalog", "--wait", "0s"}),
            "drained: the last call is answered\n");
  EXPECT_EQ(look(gates.find("catalog")).state, gate_state::draining);
}

TEST_F(ctl_test, a_drain_that_is_not_over_is_not_done) {
  auto silent = sys->spawn(mute<int, int>);
  auto slow = spawn_gate(*sys, worker{silent}, stack{"inside"});
  server->add("slow", slow);
  caf::anon_send(slow, 1);
  while (look(slow).metric("in_progress") == 0)
    std::this_thread::yield();
  auto x = ctl({"drain", "slow", "--wait", "10ms"});
  EXPECT_EQ(x.status, 2);
  EXPECT_EQ(x.out, "");
  EXPECT_EQ(x.err, "caisson ctl: slow takes no more calls, but has not "
                   "finished those it has within 10 ms\n");
  x = ctl({"drain", "slow", "--wait", "10ms", "--json"});
  EXPECT_EQ(x.status, 2);
  EXPECT_EQ(x.out, "{\"name\":\"slow\",\"drained\":false}\n");
  // Its events have the name of its stack.
  EXPECT_THAT(done({"show", "slow", "--json"}),
              HasSubstr("\"stack\":\"inside\""));
  caf::anon_send_exit(silent, caf::exit_reason::kill);
  EXPECT_EQ(done({"drain", "slow"}), "drained: the last call is answered\n");
  stop_gate(slow);
}

TEST_F(ctl_test, stops_when_nobody_can_read_it) {
  std::vector<const char*> argv{"ctl", "--file", nullptr, "list", "--watch"};
  auto file = control();
  argv[2] = file.c_str();
  std::ofstream out{"/dev/full"};
  std::ostringstream err;
  EXPECT_EQ(ctl::command_main(static_cast<int>(argv.size()), argv.data(), out,
                              err, {.sleep = [](duration) {}}),
            2);
  EXPECT_EQ(err.str(), "caisson ctl: standard output cannot be written\n");
}

TEST_F(ctl_test, lets_the_file_be_read_again) {
  EXPECT_EQ(done({"reload"}), "nothing has changed\n");
  write("[gates.payments]\nworker = \"echo\"\n"
        "[[gates.payments.layer]]\nkind = \"breaker\"\nthreshold = 9\n");
  EXPECT_EQ(done({"reload"}), "catalog: removed\n"
                              "payments/breaker: threshold = 9 (was 2)\n"
                              "payments/limiter: removed\n");
  EXPECT_THAT(done({"list"}), Not(HasSubstr("catalog")));
  write("[gates.payments]\nworker = \"echo\"\n"
        "[[gates.payments.layer]]\nkind = \"breaker\"\nthreshold = 0\n"
        "probes = 0\n");
  auto why = refused({"reload"});
  EXPECT_THAT(why, HasSubstr("gates.toml:5:13: "));
  EXPECT_THAT(why, HasSubstr("\ncaisson ctl: "));
  EXPECT_THAT(why, HasSubstr("gates.toml:6:10: "));
}

TEST_F(ctl_test, follows_events) {
  std::optional<ctl_output> got;
  std::atomic<bool> ended{false};
  std::thread follower{[&] {
    got = ctl(
      {"events", "payments", "--kind", "state_changed", "--count", "2"});
    ended = true;
  }};
  // It begins at some time.
  while (!ended) {
    done({"force_open", "payments"});
    done({"enable", "payments"});
  }
  follower.join();
  EXPECT_EQ(got->status, 0);
  EXPECT_EQ(std::count(got->out.begin(), got->out.end(), '\n'), 2);
  EXPECT_THAT(got->out, HasSubstr("Z payments/breaker: state_changed "));
}

// -- what goes wrong ----------------------------------------------------------

TEST_F(ctl_test, says_which_gates_there_are) {
  EXPECT_EQ(refused({"show", "paymets"}),
            "caisson ctl: unknown gate \"paymets\", did you mean "
            "\"payments\"? known gates: catalog, payments\n");
  EXPECT_THAT(refused({"off", "payments", "--layer", "nope"}),
              HasSubstr("nope"));
}

TEST_F(ctl_test, a_wrong_token_opens_nothing) {
  auto text = text_of(control());
  auto at = text.find("\"token\": \"") + 10;
  text[at] = text[at] == 'a' ? 'b' : 'a';
  auto other = dir.write("other", text).string();
  ASSERT_EQ(chmod(other.c_str(), 0600), 0);
  auto x = type({"--file", other, "force_open", "payments"});
  EXPECT_EQ(x.status, 2);
  EXPECT_THAT(x.err, HasSubstr("does not accept the token in " + other));
  EXPECT_EQ(look(gates.find("payments")).layer("breaker").state, "closed");
}

TEST_F(ctl_test, a_program_that_has_ended_is_said_to_be_dead) {
  auto text = text_of(control());
  server.reset();
  EXPECT_THAT(refused({"list"}), HasSubstr("cannot be opened"));
  auto left = dir.write("left", text).string();
  ASSERT_EQ(chmod(left.c_str(), 0600), 0);
  auto x = type({"--file", left, "list"});
  EXPECT_EQ(x.status, 2);
  EXPECT_THAT(x.err, HasSubstr("which wrote " + left
                               + ", does not listen at 127.0.0.1:"));
  // As after kill -9: no process has such a number.
  auto at = text.find("\"process\": ") + 11;
  text.replace(at, text.find_first_of(",\n", at) - at, "999999999");
  std::ofstream{left} << text;
  x = type({"--file", left, "list"});
  EXPECT_EQ(x.status, 2);
  EXPECT_EQ(x.err, "caisson ctl: process 999999999, which wrote " + left
                     + ", has ended\n");
}

TEST_F(ctl_test, bad_usage_is_reported) {
  struct {
    std::vector<std::string> words;
    const char* why;
  } const rows[] = {
    {{}, "subcommand"},
    {{"explode"}, ""},
    {{"show"}, "GATE"},
    {{"show", ""}, "empty"},
    {{"set", "payments"}, "SETTING=VALUE"},
    {{"list", "--every", "1ms"}, "not a time from 100ms to 1h"},
    {{"list", "--count", "0"}, "not an integer from 1"},
    {{"events", "--kind", "nope"}, "is not one of: state_changed"},
    {{"force_open", "payments", "--for", "soon"}, "not a time"},
    {{"drain", "payments", "--wait", "2h"}, "not a time"},
    {{"off", "payments", "--for", "1s"}, "--for"},
    {{"off", "payments", "--layer", ""}, "empty"},
    {{"force_open", "payments", "--for", "0s"}, "not a time from 1ns"},
    {{"force_open", "payments", "--for", "9999999h"},
     "\"9999999h\" is not a time from 1ns to 2562047h, or unlimited"},
    {{"reload", "--why", std::string(70'000, 'x')},
     "what is sent, such as the settings or the reason, is too large for the "
     "program"},
    {{"show", std::string(70'000, 'x')}, "the name of the gate"},
    {{"show", "payments", "--layer", "breaker"}, "--settings"},
    {{"show", "payments", "--settings", "--layer", "x"},
     "payments has no layer \"x\"; it has: breaker, limiter"},
    {{"set", "payments", "--layer", "breaker", "threshold=1", "threshold=2"},
     "\"threshold\" is given twice"},
    {{"events", "nope", "--count", "1"}, "unknown gate \"nope\""},
  };
  for (const auto& row : rows) {
    auto x = ctl(row.words);
    EXPECT_EQ(x.status, 2);
    EXPECT_THAT(x.err, HasSubstr(row.why));
    EXPECT_THAT(x.err, StartsWith("caisson ctl: "));
  }
  EXPECT_THAT(
    type({"explode"}).err,
    HasSubstr("caisson ctl: unknown command \"explode\", known commands: "
              "list, show"));
  EXPECT_THAT(type({"force-opne", "payments"}).err,
              HasSubstr("unknown command \"force-opne\", did you mean "
                        "\"force_open\"? known commands: list"));
  EXPECT_THAT(type({"--json", "--file", "x", "--file=x", "lst"}).err,
              HasSubstr("unknown command \"lst\", did you mean \"list\"?"));
  EXPECT_EQ(type({"--help"}).status, 0);
  ::unsetenv("CAISSON_CONTROL");
  EXPECT_THAT(type({"list"}).err, HasSubstr("CAISSON_CONTROL"));
  ::setenv("CAISSON_CONTROL", control().c_str(), 1);
  EXPECT_EQ(type({"list"}).status, 0);
  ::unsetenv("CAISSON_CONTROL");
}

// Such as one of another program that has its port now.
TEST_F(ctl_test, answers_of_other_types_are_an_error) {
  using json = nlohmann::ordered_json;
  for (auto text :
       {R"({})", R"({"gates":1})", R"({"gates":{}})", R"({"gates":[1]})",
        R"({"gates":null})", R"({"gates":[{"name":1}]})",
        R"({"gates":[{"name":"a","metrics":[]}]})",
        R"({"gates":[{"name":"a","metrics":{"calls":"1"}}]})",
        R"({"gates":[{"name":"a","layers":{}}]})",
        R"({"gates":[{"name":"a","layers":[{"mode":1}]}]})"})
    EXPECT_THROW((void)ctl::list_view(json::parse(text)), ctl::ctl_error)
      << text;
  EXPECT_EQ(ctl::list_view(json::parse(R"({"gates":[]})")), "no gates\n");
  for (auto text : {R"({"layers":1})", R"({"metrics":1})",
                    R"({"durations":[2]})", R"({"state":[]})"})
    EXPECT_THROW((void)ctl::gate_view(json::parse(text), {}, 80),
                 ctl::ctl_error)
      << text;
}

// -- the server ---------------------------------------------------------------

TEST_F(ctl_test, slow_clients_keep_nobody_out) {
  std::vector<raw_socket> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(raw_socket::connected_to(server->port()));
    slow.back().write("GET /v1/gates HTTP/1.1\r\nHo");
  }
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(done({"list"}), HasSubstr("payments"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
}

TEST_F(ctl_test, gates_can_be_added_one_by_one) {
  auto one = spawn_gate(*sys, worker{}, stack{"x"}.breaker());
  server->add("one", one);
  EXPECT_THAT(done({"list"}), HasSubstr("\none       accepting  none"));
  EXPECT_THROW(server->add("one", one), config_error);
  EXPECT_THROW(server->add("", one), config_error);
  EXPECT_THROW(server->add(std::string(1025, 'x'), one), config_error);
  EXPECT_THROW(server->add("two", {}), config_error);
  EXPECT_THROW(server->add(controlled_gates{}), config_error);
  stop_gate(one);
  while (done({"list"}).find("one has ended") == std::string::npos)
    std::this_thread::yield();
  EXPECT_EQ(refused({"show", "one"}), "caisson ctl: one has ended\n");
}

TEST_F(ctl_test, settings_of_a_server_are_checked) {
  auto problems_with = [&](control_config c) {
    try {
      control_server x{*sys, std::move(c)};
    } catch (const config_error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  EXPECT_EQ(problems_with({}), "file: no control file is given");
  EXPECT_THAT(problems_with({.file = "x", .patience = 1ms}),
              HasSubstr("patience"));
  EXPECT_THAT(problems_with({.file = "x", .events = 0}), HasSubstr("events"));
  EXPECT_THROW((control_server{
                 *sys, {.file = (dir / "b").string(), .port = server->port()}}),
               std::runtime_error)
    << "the port is taken";
  EXPECT_THROW((control_server{*sys, {.file = control()}}), std::runtime_error)
    << "the file is";
  EXPECT_EQ(done({"list"}).find("gate"), 0u) << "and stays that of the first";
}

TEST_F(ctl_test, many_operators_while_gates_come_and_go) {
  std::atomic<bool> done_all{false};
  std::vector<std::thread> operators;
  for (int i = 0; i < 4; ++i)
    operators.emplace_back([&, i] {
      while (!done_all) {
        EXPECT_EQ(ctl({"list"}).status, 0);
        // The gate is there, or it is not.
        auto x = i % 2 == 0 ? ctl({"show", "catalog"})
                            : ctl({"reset", "catalog"});
        EXPECT_TRUE(x.status == 0
                    || x.err.find("unknown gate") != std::string::npos
                    || x.err.find("has ended") != std::string::npos)
          << x.err;
      }
    });
  for (int i = 0; i < 30; ++i) {
    write(
      "[gates.payments]\nworker = \"echo\"\n"
      + std::string{i % 2 == 0 ? "" : "[gates.catalog]\nworker = \"echo\"\n"});
    EXPECT_EQ(ctl({"reload"}).status, 0);
  }
  done_all = true;
  for (auto& x : operators)
    x.join();
}

} // namespace
} // namespace caisson::test
