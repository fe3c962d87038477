// Calls that share connections to a real PostgreSQL leave each other
// and their own transactions alone. test/servers/run starts this.
#include "server.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace caisson::test {
namespace {

using texts = std::vector<std::string>;

sql_query transaction(const texts& all) {
  sql_query x;
  for (const auto& text : all)
    x.statements.push_back({text, {}});
  return x;
}

TEST_F(postgres_test, refuses_statements_that_are_not_for_shared_connections) {
  auto g = gate_for(config(1));
  ASSERT_EQ(ask(g, "create table s1 (id int)").what(), "00000");
  for (const auto* x : {"copy s1 to stdout",
                        "copy s1 from stdin",
                        "commit",
                        "rollback",
                        "begin",
                        "start transaction",
                        "abort",
                        "end",
                        "savepoint a",
                        "release a",
                        "prepare transaction 'a'",
                        "prepare a as select 1",
                        "deallocate all",
                        "set search_path = pg_temp",
                        "set transaction read write",
                        "reset all",
                        "discard all",
                        "listen a",
                        "unlisten *",
                        "load 'a'",
                        " ;/* select */-- 1\n\tCopy s1 to stdout"}) {
    EXPECT_EQ(ask(g, x).what(), "bad_request") << x;
    EXPECT_EQ(ask(g, transaction({"insert into s1 values (1)", x})).what(),
              "bad_request")
      << x;
  }
  EXPECT_EQ(ask(g, "select count(*) from s1").value(), "0");
}

TEST_F(postgres_test, changes_nothing_if_it_is_read_only) {
  auto g = gate_for(config(1));
  ASSERT_EQ(ask(g, "create table s2 (id int)").what(), "00000");
  ASSERT_EQ(ask(g, "create function s2_write() returns int language sql as "
                   "'set transaction read write; insert into s2 values (1); "
                   "select 1'")
              .what(),
            "00000");
  for (const auto& first :
       {texts{}, texts{"set local transaction read write"},
        texts{"set local transaction_read_only = off"},
        texts{"select set_config('transaction_read_only', 'off', false)"},
        texts{"select set_config('transaction_read_only', 'off', true)"},
        texts{"do $$ begin execute 'set transaction read write'; end $$"},
        texts{"do $$ begin commit; end $$"},
        texts{"do $$ begin rollback; end $$"},
        texts{"do $$ begin commit and chain; end $$"},
        texts{"do $$ begin execute 'commit'; end $$"},
        texts{"select s2_write()"}, texts{"commit"}, texts{"rollback", "begin"},
        texts{"set transaction read write"}, texts{"prepare transaction 's2'"}})
    for (auto isolation :
         {sql_isolation::standard, sql_isolation::read_committed,
          sql_isolation::serializable}) {
      auto all = first;
      all.push_back("insert into s2 values (1)");
      auto x = transaction(all);
      x.isolation = isolation;
      x.read_only = true;
      EXPECT_NE(ask(g, x).what(), "00000") << all.front();
    }
  EXPECT_EQ(ask(g, "select count(*) from s2").value(), "0");
  auto reading = sql("select count(*) from s2");
  reading.read_only = true;
  EXPECT_EQ(ask(g, reading).value(), "0");
  EXPECT_EQ(ask(g, "insert into s2 values (1)").what(), "00000");
}

// Also after a transaction that failed, and on the same connection.
TEST_F(postgres_test, leaves_nothing_to_the_next_call) {
  auto g = gate_for(config(1));
  auto backend = ask(g, "select pg_backend_pid()").value();
  ASSERT_EQ(ask(g, "create role s3").what(), "00000");
  const std::string state
    = "select concat_ws(' ', current_user, session_user, "
      "current_setting('search_path'), "
      "current_setting('default_transaction_read_only'), "
      "current_setting('client_connection_check_interval'), "
      "'<' || coalesce(current_setting('a.b', true), '') || '>', "
      "(select count(*) from pg_locks where locktype = 'advisory'), "
      "(select count(*) from pg_prepared_statements), "
      "(select count(*) from pg_cursors where name <> ''), "
      "(select count(*) from pg_listening_channels()), "
      "(select count(*) from pg_class where relname = 's3_temporary'))";
  auto before = ask(g, state).value();
  EXPECT_NE(before.find(" 100ms "), std::string::npos) << before;
  for (const auto* x :
       {"select set_config('search_path', 'evil', false)",
        "select set_config('default_transaction_read_only', 'on', false)",
        "select set_config('client_connection_check_interval', '0', false)",
        "select set_config('a.b', 'c', false)",
        "select set_config('role', 's3', false)",
        "select set_config('session_authorization', 's3', false)",
        "do $$ begin execute 'set search_path = evil'; end $$",
        "do $$ begin execute 'listen s3'; end $$",
        "do $$ begin execute 'prepare s3 as select 1'; end $$",
        "select pg_advisory_lock(1)", "create temp table s3_temporary (id int)",
        "declare s3 cursor with hold for select 1",
        "set local search_path = evil", "set constraints all deferred"}) {
    EXPECT_EQ(ask(g, x).what(), "00000") << x;
    EXPECT_EQ(ask(g, state).value(), before) << x;
    EXPECT_EQ(ask(g, transaction({x, "select 1 / 0"})).what(), "22012") << x;
    EXPECT_EQ(ask(g, state).value(), before) << x;
  }
  EXPECT_EQ(ask(g, "select pg_backend_pid()").value(), backend);
}

// A lock that is taken first is what the snapshot of a transaction that may
// write waits for.
TEST_F(postgres_test, sees_what_was_committed_before_it_got_its_lock) {
  auto g = gate_for(config(2));
  ASSERT_EQ(ask(g, "create table s4 (id int)").what(), "00000");
  auto writes = send(
    g, transaction({"insert into s4 values (1)", "select pg_sleep(0.5)"}));
  std::this_thread::sleep_for(200ms);
  auto reads = transaction({"lock table s4", "select count(*) from s4"});
  reads.isolation = sql_isolation::repeatable_read;
  EXPECT_EQ(ask(g, reads).value(), "1");
  EXPECT_EQ(receive(std::move(writes)).what(), "00000");
}

TEST_F(postgres_test, reports_what_fails_only_as_it_commits) {
  auto g = gate_for(config(1));
  auto backend = ask(g, "select pg_backend_pid()").value();
  ASSERT_EQ(ask(g, "create table s5 (id int primary key, other int references "
                   "s5 deferrable initially deferred)")
              .what(),
            "00000");
  EXPECT_EQ(ask(g, "insert into s5 values (1, 2)").what(), "23503");
  EXPECT_EQ(ask(g, "select count(*) from s5").value(), "0");
  EXPECT_EQ(ask(g, "select pg_backend_pid()").value(), backend);
}

TEST_F(postgres_test, takes_only_so_many_remarks_and_notifications) {
  auto c = config(1);
  c.max_result = 100'000;
  auto g = gate_for(c);
  EXPECT_EQ(ask(g, "do $$ begin for i in 1..1000 loop raise notice '%', "
                   "repeat('x', 100); end loop; end $$")
              .what(),
            "00000");
  EXPECT_EQ(ask(g, "do $$ begin for i in 1..30000 loop raise notice '%', "
                   "repeat('x', 100); end loop; end $$")
              .what(),
            "too_large");
  EXPECT_EQ(ask(g, "select 1").value(), "1");
}

} // namespace
} // namespace caisson::test
