// Workers that a file of gates describes itself: what is read, and what is
// refused.
#include <caisson/config/gate_file.hpp>
#include <caisson/gate/worker_kind.hpp>

#include <support/problem_texts.hpp>
#include <support/scratch.hpp>
#include <support/stack_texts.hpp>
#include <support/world.hpp>

#include <stdlib.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

struct depot_config {
  std::string url = "depot://a";
  std::uint32_t max_waiting = 4;
  duration max_time = 1s;
  std::string user = {};
  std::string token = {};
};

void describe(field_visitor& v, depot_config& c) {
  v.on({"url", "the server"}, c.url);
  v.integer<std::uint32_t>({"max_waiting", "how many wait"}, c.max_waiting,
                           {0, 100});
  v.on({"max_time", "how long one may take"}, c.max_time, {1ms, 1h});
  v.on({"user", "who"}, c.user);
  v.on({"token", "the user's"}, c.token);
}

void check(const depot_config& c, const setting_path& path, problems& out) {
  if (!c.url.starts_with("depot://"))
    out.push_back({problem_kind::range, path / "url", "is not a depot"});
  if (!c.user.empty() && c.token.empty())
    out.push_back({problem_kind::relation, path / "user", "requires a token"});
}

worker depot_worker(const depot_config& c, const supervision_config& s) {
  if (c.url == "depot://broken")
    throw std::runtime_error{"out of order"};
  return worker::supervised(
    [](caf::actor_system&) { return caf::expected<caf::actor>{caf::actor{}}; },
    s);
}

worker_kind depot_kind() {
  // [kind]
  return worker_kind::of<depot_config>(
    "depot", depot_worker,
    {.secrets = {"token"}, .supervision = {.max_restarts = 9}});
  // [/kind]
}

struct described_workers : testing::Test {
  described_workers() { known.add_kind(depot_kind()).add("w", worker{}); }

  gate_file read(std::string_view text) {
    problems found;
    auto out = read_gates(parsed(text), known, found, world);
    EXPECT_EQ(to_text(found), "");
    return out;
  }

  problems problems_in(std::string_view text) {
    problems found;
    EXPECT_TRUE(read_gates(parsed(text), known, found, world).gates.empty());
    return found;
  }

  // Of the only gate in the text.
  texts complaints(const std::string& table) {
    return kinds_and_keys(
      problems_in("[gates.a]\nworker = { " + table + " }\n"));
  }

  std::string complaint(const std::string& table) {
    return to_text(problems_in("[gates.a]\nworker = { " + table + " }\n"));
  }

  // How gates with these workers differ.
  std::string changes(const std::string& from, const std::string& to) {
    auto read_one = [&](const std::string& table) {
      return read("[gates.a]\nworker = { kind = 'depot', " + table + " }\n")
        .gates.at("a")
        .described;
    };
    return read_one(to)->changes_from(*read_one(from));
  }

  worker_names known;
  virtual_time world;
};

TEST_F(described_workers, are_made_by_their_kind) {
  auto file = read("[gates.a]\n"
                   "worker = { kind = 'depot', url = 'depot://b' }\n");
  const auto& a = file.gates.at("a");
  EXPECT_EQ(a.worker, "");
  ASSERT_TRUE(a.described);
  EXPECT_EQ(a.described->kind(), "depot");
  EXPECT_EQ(a.worker_place, "f:2:10");
  auto behind = worker_of(a, known, world);
  EXPECT_TRUE(behind.is_supervised());
  EXPECT_EQ(behind.supervision().max_restarts, 9u);
}

TEST_F(described_workers, may_be_a_table_of_their_own) {
  auto file = read("[gates.a.worker]\n"
                   "kind = 'depot'\n"
                   "max_waiting = 7\n"
                   "[gates.a.worker.supervision]\n"
                   "max_waiting = 70\n");
  const auto& a = file.gates.at("a");
  EXPECT_EQ(
    a.described->changes_from(*read("[gates.a]\nworker = { kind = 'depot' }\n")
                                 .gates.at("a")
                                 .described),
    "max_waiting = 7 (was 4)");
  EXPECT_EQ(a.policies.supervision.max_waiting, 70u);
}

TEST_F(described_workers, have_the_supervision_of_all_gates_and_their_own) {
  auto file = read("[default]\nworker = { max_restarts = 10, period = '9s' }\n"
                   "[gates.a.worker]\n"
                   "kind = 'depot'\n"
                   "supervision = { max_restarts = 3 }\n"
                   "[gates.b]\nworker = { kind = 'depot' }\n");
  const auto& a = file.gates.at("a").policies.supervision;
  EXPECT_EQ(a.max_restarts, 3u);
  EXPECT_EQ(a.period, 9s);
  EXPECT_EQ(file.gates.at("b").policies.supervision.max_restarts, 10u);
}

TEST_F(described_workers, may_be_in_a_group) {
  auto file = read("[groups.db]\n"
                   "[gates.a]\n"
                   "worker = { kind = 'depot', group = 'db', rank = 3 }\n");
  const auto& a = file.gates.at("a");
  EXPECT_EQ(a.group, "db");
  EXPECT_EQ(a.rank, 3u);
  auto group = spawn_supervision_group(world, file.groups.at("db"));
  auto behind = worker_of(a, known, world, {{"db", group}});
  EXPECT_TRUE(behind.is_grouped());
  EXPECT_EQ(behind.rank(), 3u);
}

TEST_F(described_workers, report_all_problems_of_their_settings) {
  EXPECT_EQ(
    complaints("kind = 'depot', url = 'x://', max_waiting = 101, "
               "max_time = 5, usr = 'me'"),
    (texts{"range gates.a.worker.max_waiting", "type gates.a.worker.max_time",
           "unknown gates.a.worker.usr", "range gates.a.worker.url"}));
  EXPECT_EQ(complaint("kind = 'depot', user = 'me'"),
            "f:2:35: gates.a.worker.user: requires a token");
  EXPECT_EQ(complaint("kind = 'depot', usr = 'me'"),
            "f:2:34: gates.a.worker.usr: unknown key, did you mean \"user\"? "
            "known keys: kind, group, rank, supervision, url, max_waiting, "
            "max_time, user, token, token_env, token_file");
}

TEST_F(described_workers, have_a_kind_that_the_program_knows) {
  EXPECT_EQ(
    complaint("kind = 'depo'"),
    "f:2:19: gates.a.worker.kind: \"depo\" is not a kind of worker, did "
    "you mean \"depot\"? the program knows: depot");
  EXPECT_EQ(complaint("kind = 'redis', port = 1"),
            "f:2:19: gates.a.worker.kind: \"redis\" needs "
            "`workers.add_kind(redis_worker_kind())` in the program, with "
            "<caisson/adapters/redis/client.hpp>");
  EXPECT_EQ(complaints("kind = 7"), (texts{"type gates.a.worker.kind"}));
  known = {};
  EXPECT_EQ(complaint("kind = 'htp'"),
            "f:2:19: gates.a.worker.kind: \"htp\" is not a kind of worker, did "
            "you mean \"http\"? the program knows: none");
}

TEST_F(described_workers, keep_supervision_apart) {
  EXPECT_EQ(complaint("kind = 'depot', max_restarts = 3"),
            "f:2:43: gates.a.worker.max_restarts: is a setting of "
            "supervision: write supervision = { max_restarts = … }");
  EXPECT_EQ(complaints("kind = 'depot', supervision = { max_restarts = 1001, "
                       "x = 1 }"),
            (texts{"range gates.a.worker.supervision.max_restarts",
                   "unknown gates.a.worker.supervision.x"}));
  EXPECT_EQ(complaints("kind = 'depot', supervision = 3"),
            (texts{"type gates.a.worker.supervision"}));
}

TEST_F(described_workers, have_no_name_and_no_default) {
  EXPECT_EQ(complaints("kind = 'depot', name = 'w'"),
            (texts{"relation gates.a.worker.name"}));
  EXPECT_EQ(kinds_and_keys(problems_in("[default]\n"
                                       "worker = { kind = 'depot' }\n"
                                       "[gates.a]\nworker = 'w'\n")),
            (texts{"relation default.worker.kind"}));
}

TEST_F(described_workers,
       that_have_neither_name_nor_kind_are_reported_with_both) {
  auto text = complaint("max_restarts = 1");
  EXPECT_NE(text.find("`kind`: depot"), std::string::npos) << text;
}

TEST_F(described_workers, whose_maker_throws_are_a_problem_of_the_gate) {
  auto file = read("[gates.a]\n"
                   "worker = { kind = 'depot', url = 'depot://broken' }\n");
  EXPECT_THROW(static_cast<void>(worker_of(file.gates.at("a"), known, world)),
               std::runtime_error);
}

TEST_F(described_workers, are_made_by_the_gate) {
  known = {};
  known.add_kind(worker_kind::of<depot_config>(
    "depot",
    [](const depot_config&, const supervision_config&) { return worker{}; }));
  auto file = read("[gates.a]\nworker = { kind = 'depot' }\n");
  EXPECT_THROW(static_cast<void>(worker_of(file.gates.at("a"), known, world)),
               config_error);
}

// -- secrets ------------------------------------------------------------------

TEST_F(described_workers, may_have_secrets_in_files_and_in_the_environment) {
  scratch_dir dir;
  auto path = dir.write("token", "from a file\n").string();
  ::setenv("CAISSON_TEST_TOKEN", "from the environment", 1);
  auto same = [&](const std::string& a, const std::string& b) {
    return changes(a, b).empty();
  };
  EXPECT_TRUE(same("token_file = '" + path + "'", "token = 'from a file'"));
  EXPECT_TRUE(
    same("token_env = 'CAISSON_TEST_TOKEN'", "token = 'from the environment'"));
  // Without the line break, and nothing else is taken away.
  dir.write("token", " x \r\n");
  EXPECT_TRUE(same("token_file = '" + path + "'", "token = ' x '"));
  // What one needs another one for is there.
  EXPECT_TRUE(same("user = 'me', token_file = '" + path + "'",
                   "user = 'me', token = ' x '"));
  ::unsetenv("CAISSON_TEST_TOKEN");
}

TEST_F(described_workers, say_which_secret_is_not_there) {
  scratch_dir dir;
  auto in = [&](const std::string& table) {
    return complaint("kind = 'depot', " + table);
  };
  EXPECT_EQ(in("token_env = 'CAISSON_NO_SUCH'"),
            "f:2:40: gates.a.worker.token_env: \"CAISSON_NO_SUCH\" is not "
            "an environment variable of this process");
  EXPECT_NE(in("token_file = '/no/such'").find("\"/no/such\" cannot be read"),
            std::string::npos);
  auto file = [&](const std::string& text) {
    return "token_file = '" + dir.write("t", text).string() + "'";
  };
  EXPECT_NE(in(file("\n")).find("is empty"), std::string::npos);
  EXPECT_NE(in(file(std::string(65'537, 'x'))).find("more than 65536 bytes"),
            std::string::npos);
  EXPECT_NE(
    in("token_file = '" + dir.path().string() + "'").find("cannot be read"),
    std::string::npos);
  EXPECT_EQ(complaints("kind = 'depot', token = 'a', token_env = 'HOME'"),
            (texts{"relation gates.a.worker.token_env"}));
}

TEST_F(described_workers, never_show_secrets) {
  EXPECT_EQ(
    changes("token = 'hunter1'", "token = 'hunter2', url = 'depot://c'"),
    "url = \"depot://c\" (was \"depot://a\"), token = another one");
  // Also if it is not even a text.
  auto text = complaint("kind = 'depot', token = 123456");
  EXPECT_EQ(text,
            "f:2:36: gates.a.worker.token: is not a string: put it in quotes");
  // Texts that are alike as far as they are shown.
  auto longer = std::string(100, 'x');
  EXPECT_EQ(changes("token = '" + longer + "a'", "token = '" + longer + "b'"),
            "token = another one");
  EXPECT_EQ(changes("user = '" + longer + "a', token = 'x'",
                    "user = '" + longer + "b', token = 'x'"),
            "other settings");
}

TEST_F(described_workers, are_the_same_if_all_values_are) {
  EXPECT_EQ(changes("max_time = '1s'", "max_time = '1000ms', max_waiting = 4"),
            "");
}

// -- kinds --------------------------------------------------------------------

TEST(worker_kind_, is_given_once) {
  worker_names x;
  x.add_kind(depot_kind());
  EXPECT_THROW(x.add_kind(depot_kind()), config_error);
  EXPECT_EQ(x.kinds(), (texts{"depot"}));
  EXPECT_EQ(x.find_kind("depo"), nullptr);
  EXPECT_EQ(x.find_kind("depot")->rows().size(), 5u);
}

struct odd_kind_config {
  std::string group = {};
  std::uint32_t count = 0;
};

void describe(field_visitor& v, odd_kind_config& c) {
  v.on({"group", "a name that files use"}, c.group);
  v.integer<std::uint32_t>({"count", "a number"}, c.count, {0, 9});
}

TEST(worker_kind_, says_what_it_cannot_be) {
  auto make = [](const odd_kind_config&, const supervision_config&) {
    return worker{};
  };
  try {
    static_cast<void>(worker_kind::of<odd_kind_config>(
      "a b", make, {.secrets = {"count", "x"}}));
    FAIL();
  } catch (const config_error& e) {
    EXPECT_EQ(kinds_and_keys(e.all()),
              (texts{"range name", "relation group", "unknown secrets",
                     "unknown secrets"}));
  }
  EXPECT_THROW(
    static_cast<void>(worker_kind::of<depot_config>("depot", nullptr)),
    config_error);
}

} // namespace
} // namespace caisson::test
