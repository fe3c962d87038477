#include <caisson/adapters/postgres/messages.hpp>

#include <gtest/gtest.h>

namespace caisson::test {
namespace {

TEST(sql_statement, may_concern_the_session) {
  for (auto x : {"ABORT",
                 "begin",
                 "Commit",
                 "copy t to stdout",
                 "DEALLOCATE ALL",
                 "discard all",
                 "END",
                 "listen c",
                 "load 'x'",
                 "prepare p as select 1",
                 "PREPARE TRANSACTION 'x'",
                 "release s",
                 "reset all",
                 "rollback",
                 "ROLLBACK TO s",
                 "savepoint s",
                 "set x = 1",
                 "set x.y to 1",
                 "SET TRANSACTION READ WRITE",
                 "set session x = 1",
                 "set role r",
                 "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
                 "start transaction",
                 "unlisten *",
                 "commit;",
                 "commit/**/",
                 "COMMIT--",
                 "set\tx = 1",
                 " \t\n\r\f\v;commit",
                 "-- x\ncommit",
                 "--\rcommit",
                 "/* a */commit",
                 "/* /* a */ */ commit",
                 "/**//***/commit",
                 "/*/*/*/**/*/*/*/ commit",
                 ";-- x\n;/*;*/; set/*local*/x = 1"})
    EXPECT_TRUE(is_of_session({x})) << x;
  for (auto x : {"",
                 "select 1",
                 "insert into t values ('commit')",
                 "-- commit",
                 "/* commit */ select 1",
                 "/* /* */ commit */ select 1",
                 "/* commit",
                 "set local x = 1",
                 "SET /**/ LOCAL x = 1",
                 "set constraints all deferred",
                 "complete",
                 "ending",
                 "copying",
                 "notify c",
                 "lock table t",
                 "1 commit",
                 "(commit)",
                 "\"commit\"",
                 "/commit",
                 "-commit",
                 "do 'commit'",
                 "vacuum",
                 "with x as (select 1) select * from x",
                 "explain select 1"})
    EXPECT_FALSE(is_of_session({x})) << x;
}

TEST(sql_statement, may_be_empty) {
  for (auto x : {"", " ", ";", "-- select 1", "/* select 1 */", "; ;\n--\n/**/",
                 "/* /* */", "/*"})
    EXPECT_TRUE(is_empty({x})) << x;
  for (auto x : {"select 1", "-", "/", "/* */ x", "-- x\n1", "x -- y"})
    EXPECT_FALSE(is_empty({x})) << x;
}

TEST(sql_query, is_idempotent_if_it_is_read_only) {
  init_sql_types();
  auto x = sql("select 1");
  EXPECT_EQ(as_call(x).options.idempotent, idempotence::no);
  x.read_only = true;
  EXPECT_EQ(as_call(x).options.idempotent, idempotence::yes);
}

} // namespace
} // namespace caisson::test
