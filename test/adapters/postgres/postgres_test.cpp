// The worker for PostgreSQL with a real server, which is crashed and made to
// stand still. test/servers/run starts this.
#include "server.hpp"

#include <caisson/stack/layers/cache_layer.hpp>

#include <support/away.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

TEST_F(postgres_test, carries_out_statements) {
  auto g = gate_for(config(), stack{"orders"}.retrier(patient()));
  ASSERT_EQ(ask(g, "create table t1 (id int primary key, name text)").what(),
            "00000");
  auto inserted = ask(g,
                      sql("insert into t1 values ($1, $2), (2, $3)",
                          {{"1"}, {"it's; drop table t1"}, sql_value::null()}));
  ASSERT_EQ(inserted.what(), "00000") << inserted.result->message;
  EXPECT_EQ(inserted.result->tables.front().affected, 2);
  auto all = ask(g, "select id, name from t1 order by id");
  const auto& table = all.result->tables.front();
  EXPECT_EQ(table.columns, (std::vector<std::string>{"id", "name"}));
  EXPECT_EQ(table.rows,
            (std::vector<std::vector<sql_value>>{
              {{"1"}, {"it's; drop table t1"}}, {{"2"}, sql_value::null()}}));
  EXPECT_EQ(table.affected, 2);
}

TEST_F(postgres_test, carries_out_all_statements_or_none) {
  auto g = gate_for(config(1), stack{"orders"}.retrier(patient()));
  ASSERT_EQ(ask(g, "create table t2 (id int primary key)").what(), "00000");
  sql_query two;
  two.statements = {{"insert into t2 values (1)", {}},
                    {"select count(*) from t2", {}}};
  auto done = ask(g, two);
  ASSERT_EQ(done.what(), "00000");
  ASSERT_EQ(done.result->tables.size(), 2u);
  EXPECT_EQ(done.value(), "1");
  two.statements = {{"insert into t2 values (2)", {}},
                    {"insert into t2 values (1)", {}}};
  auto failed = ask(g, two);
  EXPECT_EQ(failed.what(), "23505");
  EXPECT_TRUE(failed.result->tables.empty());
  EXPECT_NE(failed.result->message, "");
  EXPECT_EQ(ask(g, "select count(*) from t2").value(), "1");
  EXPECT_EQ(ask(g, "syntax error").what(), "42601");
  sql_query reading = sql("insert into t2 values (3)");
  reading.read_only = true;
  EXPECT_EQ(ask(g, reading).what(), "25006");
  // All of that on one connection.
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
}

TEST_F(postgres_test, refuses_what_it_cannot_send) {
  auto g = gate_for(config(1));
  EXPECT_EQ(ask(g, sql_query{}).what(), "bad_request");
  EXPECT_EQ(ask(g, "").what(), "bad_request");
  EXPECT_EQ(ask(g, " ; -- nothing").what(), "bad_request");
  std::string zero{"select 1\0; drop", 15};
  EXPECT_EQ(ask(g, zero).what(), "bad_request");
  EXPECT_EQ(ask(g, sql("select $1", {{std::string{"\0", 1}}})).what(),
            "bad_request");
  EXPECT_EQ(ask(g, "select 1; select 2").what(), "42601");
  EXPECT_EQ(ask(g, "copy (select 1) to stdout").what(), "bad_request");
  EXPECT_EQ(ask(g, "select 1").value(), "1");
}

// -- what the policies make of it ---------------------------------------------

TEST_F(postgres_test, takes_a_unique_violation_for_a_conflict) {
  auto g = gate_for(
    config(1), stack{"orders"}.retrier(patient()).breaker({.threshold = 1}));
  ASSERT_EQ(ask(g, "create table t4 (id int primary key)").what(), "00000");
  EXPECT_EQ(ask(g, "insert into t4 values (1)").what(), "00000");
  auto before = look(g).metric("attempts");
  EXPECT_EQ(ask(g, "insert into t4 values (1)").what(), "23505");
  auto s = look(g);
  EXPECT_EQ(s.metric("attempts") - before, 1);
  EXPECT_EQ(s.metric("answers_conflict"), 1);
  EXPECT_EQ(s.layer("breaker").state, "closed");
}

// Transactions that read and write the same row: those that cannot be
// serialized are repeated, although they are not idempotent, and none is done
// twice.
TEST_F(postgres_test, repeats_serialization_failures) {
  auto g = gate_for(config(8), stack{"orders"}.retrier(patient()).semaphore(
                                 {.permits = 8, .max_waiters = 1'000}));
  ASSERT_EQ(ask(g, "create table t5 (n int)").what(), "00000");
  ASSERT_EQ(ask(g, "insert into t5 values (0)").what(), "00000");
  sql_query step;
  step.statements = {{"select n from t5", {}},
                     {"select pg_sleep(0.002)", {}},
                     {"update t5 set n = n + 1", {}}};
  step.isolation = sql_isolation::serializable;
  std::vector<decltype(send(g, step))> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(send(g, step, 40s));
  for (auto& x : all)
    EXPECT_EQ(receive(x).what(), "00000");
  EXPECT_EQ(ask(g, "select n from t5").value(), "100");
  EXPECT_GT(look(g).metric("retrier", "retried"), 0);
}

// -- deadlines ----------------------------------------------------------------

TEST_F(postgres_test, lets_the_server_give_up_before_the_deadline) {
  auto g = gate_for(config(1));
  auto before = ask(g, "select pg_backend_pid()").value();
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(g, "select pg_sleep(10)", 500ms).what(), "57014");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms);
  // The connection lasts.
  EXPECT_EQ(ask(g, "select pg_backend_pid()").value(), before);
}

TEST_F(postgres_test, ends_by_the_deadline_if_the_server_stands_still) {
  auto g = gate_for(config(1));
  auto backend = std::stoi(ask(g, "select pg_backend_pid()").value());
  ASSERT_EQ(::kill(backend, SIGSTOP), 0);
  auto begin = std::chrono::steady_clock::now();
  auto what = ask(g, "select 1", 200ms).what();
  EXPECT_TRUE(what == "timed_out" || what == "deadline_exceeded") << what;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  EXPECT_EQ(ask(g, "select 1").value(), "1");
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
  ::kill(backend, SIGCONT);
}

TEST_F(postgres_test, frees_the_thread_of_a_cancelled_transaction) {
  auto pool = postgres_worker(config(1)).factory()(*sys);
  ASSERT_TRUE(pool);
  caf::actor first = spawn_gate(
    *sys, worker{*pool}.takes_calls().takes_cancelled(), stack{});
  auto waits = send(first, sql("select pg_sleep(20)"));
  std::this_thread::sleep_for(200ms);
  const std::string sleeping = "select count(*) from pg_stat_activity where "
                               "query like 'select pg_sleep(2%'";
  auto other = gate_for(config(1));
  EXPECT_EQ(ask(other, sleeping).value(), "1");
  stop_gate(first);
  EXPECT_EQ(receive(waits).what(), "cancelled");
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(*pool, "select 1").value(), "1");
  // Nor does the server work on.
  while (ask(other, sleeping).value() != "0"
         && std::chrono::steady_clock::now() - begin < 5s)
    std::this_thread::sleep_for(10ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  caf::anon_send_exit(*pool, caf::exit_reason::user_shutdown);
}

// What waits on the socket while libpq reads a part of it counts once.
TEST_F(postgres_test, takes_large_results_of_many_rows) {
  auto g = gate_for(config(1));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask(g, "select i from generate_series(1, 300000) i").what(),
              "00000");
}

TEST_F(postgres_test, takes_no_more_than_configured) {
  auto c = config(1);
  c.max_result = 100'000;
  auto g = gate_for(c);
  EXPECT_EQ(ask(g, "select repeat('x', 90000)").what(), "00000");
  EXPECT_EQ(
    ask(g, "select repeat('x', 1000) from generate_series(1, 100000)").what(),
    "too_large");
  EXPECT_EQ(ask(g, "select 1").value(), "1");
}

// -- connections that break ---------------------------------------------------

TEST_F(postgres_test, connects_anew_if_only_the_connection_is_gone) {
  auto g = gate_for(config(1));
  auto other = gate_for(config(1));
  auto backend = ask(g, "select pg_backend_pid()").value();
  EXPECT_EQ(ask(other, "select pg_terminate_backend(" + backend + ")").value(),
            "t");
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(ask(g, "select 1").value(), "1");
  // In the middle of a statement.
  backend = ask(g, "select pg_backend_pid()").value();
  auto waits = send(g, sql("select pg_sleep(20)"));
  std::this_thread::sleep_for(200ms);
  (void)ask(other, "select pg_terminate_backend(" + backend + ")");
  EXPECT_EQ(receive(waits).what(), "57P01");
  EXPECT_EQ(ask(g, "select 1").value(), "1");
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
}

TEST_F(postgres_test, has_no_worker_without_a_server) {
  postgres_client_config c{.connection = "host=127.0.0.1 port="
                                         + std::to_string(dead_port())};
  auto g = gate_for(c);
  EXPECT_EQ(ask(g, "select 1", 300ms).what(), "deadline_exceeded");
  EXPECT_GE(look(g).metric("worker_restarts"), 2);
  scripted_server garbage{[](raw_socket& x, int) {
    (void)x.read();
    x.write("SSH-2.0-OpenSSH_9.2p1\r\n");
    while (!x.read().empty())
      ;
  }};
  c.connection = "host=127.0.0.1 sslmode=disable port="
                 + std::to_string(garbage.port());
  EXPECT_EQ(ask(gate_for(c), "select 1", 300ms).what(), "deadline_exceeded");
}

// Inserts that may not be repeated, while the server crashes and comes back:
// what was answered is there, what is there was asked for once, and the rest is
// unknown. Goes on until a crash has met one.
TEST_F(postgres_test, inserts_nothing_twice_when_the_server_crashes) {
  auto g = gate_for(config(4), stack{"orders"}.retrier(patient()).semaphore(
                                 {.permits = 4, .max_waiters = 100'000}));
  ASSERT_EQ(ask(g, "create table t6 (id int)").what(), "00000");
  std::atomic<bool> over{false};
  std::atomic<bool> met{false};
  std::thread fault{[&] {
    for (int i = 0; i < 2 || !(over || met); ++i) {
      std::this_thread::sleep_for(300ms);
      server->crash();
      server->start();
      std::this_thread::sleep_for(700ms);
    }
  }};
  std::set<std::string> done;
  std::set<std::string> unknown;
  auto asked = 0;
  auto unknown_answers = 0;
  auto begin = std::chrono::steady_clock::now();
  auto goes_on = [&] {
    auto time = std::chrono::steady_clock::now() - begin;
    return time < 3s || (unknown.empty() && time < 30s);
  };
  while (goes_on()) {
    std::vector<std::pair<std::string, decltype(send(g, {}))>> some;
    for (int i = 0; i < 20; ++i) {
      auto id = std::to_string(asked++);
      some.emplace_back(
        id, send(g, sql("insert into t6 values ($1)", {{id}}), 30s));
    }
    for (auto& [id, x] : some) {
      auto what = receive(x).what();
      if (what == "00000")
        done.insert(id);
      else if (what == "lost" || what == "worker_down" || what == "57P01"
               || what == "57P02") {
        unknown.insert(id);
        // Those that wait for a worker must find one.
        met = true;
      } else
        unknown_answers += std::printf("%s: %s\n", id.c_str(), what.c_str())
                           > 0;
    }
  }
  over = true;
  fault.join();
  EXPECT_EQ(unknown_answers, 0);
  EXPECT_GT(unknown.size(), 0u);
  auto rows = ask(g, "select id, count(*) from t6 group by id");
  ASSERT_EQ(rows.what(), "00000");
  std::set<std::string> there;
  for (const auto& row : rows.result->tables.front().rows) {
    there.insert(row[0].text);
    EXPECT_EQ(row[1].text, "1") << row[0].text;
    EXPECT_TRUE(done.contains(row[0].text) || unknown.contains(row[0].text));
  }
  for (const auto& id : done)
    EXPECT_TRUE(there.contains(id)) << id;
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 0);
  std::printf("asked %d, done %zu, unknown %zu, there %zu\n", asked,
              done.size(), unknown.size(), there.size());
}

// -- write-back ---------------------------------------------------------------

/// An update of a row sets what a query of its number answers.
cache_forms row_by_number() {
  auto forms = cache_forms::keyed_by<sql_query>(
    [](const sql_query& x) { return x.statements.at(0).params.at(0).text; });
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    auto* in = portable::get_if<sql_query>(x);
    if (!in || !in->statements.at(0).text.starts_with("update"))
      return std::nullopt;
    const auto& params = in->statements[0].params;
    sql_result row{.sqlstate = "00000"};
    row.tables.push_back({.rows = {{params.at(1)}}});
    return cached_write{params.at(0).text, caf::make_message(row),
                        caf::make_message(sql_result{.sqlstate = "00000"})};
  };
  return forms;
}

TEST_F(postgres_test, loses_no_acknowledged_write_while_it_is_away_for_long) {
  auto direct = gate_for(config(), stack{"direct"}.retrier(patient()));
  ASSERT_EQ(ask(direct, "create table t7 (id int, n int)").what(), "00000");
  ASSERT_EQ(ask(direct, "insert into t7 values (1, 1)").what(), "00000");
  auto c = config();
  // Less than a flush may take, so that the worker says it.
  c.max_time = 30ms;
  auto g = gate_for(c, stack{}.cache(hasty_flushes(), row_by_number()));
  auto count = [&](const std::string& name) {
    return look(g).metric("cache", name);
  };
  auto fails_again = [&] {
    auto enough = count("flush_failed") + failures_in_two_minutes;
    for (int i = 0; i < 2'000 && count("flush_failed") < enough; ++i)
      std::this_thread::sleep_for(5ms);
    EXPECT_GE(count("flush_failed"), enough);
    EXPECT_EQ(count("lost"), 0);
    EXPECT_EQ(count("unwritten"), 1);
  };
  // First it is too slow, as somebody has locked the table.
  sql_query lock;
  lock.statements = {{"lock table t7"}, {"select pg_sleep(20)"}};
  auto locked = send(gate_for(config(), stack{"lock"}), lock, 30s);
  ASSERT_EQ(ask(direct, "select pg_sleep(0.2)").what(), "00000");
  auto set = sql("update t7 set n = $2 where id = $1", {{"1"}, {"42"}});
  ASSERT_EQ(ask(g, set).what(), "00000");
  fails_again();
  server->crash();
  fails_again();
  EXPECT_EQ(ask(g, sql("select n from t7 where id = $1", {{"1"}})).value(),
            "42");
  server->start();
  for (int i = 0; i < 2'000 && count("unwritten") > 0; ++i)
    std::this_thread::sleep_for(5ms);
  EXPECT_EQ(count("lost"), 0);
  EXPECT_EQ(ask(direct, "select n from t7 where id = 1").value(), "42");
  receive(locked);
}

} // namespace
} // namespace caisson::test
