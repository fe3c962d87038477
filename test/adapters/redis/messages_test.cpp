#include <caisson/adapters/redis/messages.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace caisson::test {
namespace {

redis_command words(std::vector<std::string> args) {
  init_redis_types();
  return {std::move(args)};
}

TEST(redis_command, is_idempotent_if_it_reads_or_sets) {
  for (auto& x : {words({"GET", "a"}), words({"get", "a"}), words({"PING"}),
                  words({"SET", "a", "1"}), words({"SET", "a", "1", "EX", "5"}),
                  words({"set", "a", "1", "keepttl"}),
                  words({"SET", "a", "NX"}), words({"MSET", "a", "1"})})
    EXPECT_TRUE(is_idempotent(x)) << x.args.front();
  for (auto& x :
       {words({}), words({"INCR", "a"}), words({"SET", "a", "1", "NX"}),
        words({"SET", "a", "1", "EX", "5", "GET"}), words({"DEL", "a"}),
        words({"LPUSH", "a", "1"}), words({"EVAL", "return 1", "0"}),
        words({"GETDEL", "a"}), words({"nonsense"})})
    EXPECT_FALSE(is_idempotent(x));
  EXPECT_EQ(as_call(words({"GET", "a"})).options.idempotent, idempotence::yes);
  EXPECT_EQ(as_call(words({"INCR", "a"})).options.idempotent, idempotence::no);
}

TEST(redis_command, trims_a_list_to_the_same_only_if_it_keeps_an_end) {
  auto trims = [](const char* first, const char* last) {
    return is_idempotent(words({"LTRIM", "a", first, last}));
  };
  for (auto last : {"0", "99", "-1"})
    EXPECT_TRUE(trims("0", last)) << last;
  EXPECT_TRUE(trims("-100", "-1"));
  for (auto [first, last] :
       {std::pair{"100", "-1"}, std::pair{"1", "9"}, std::pair{"0", "-2"},
        std::pair{"-3", "-2"}, std::pair{"-3", "2"}, std::pair{"5", "2"},
        std::pair{"0", ""}, std::pair{"0", "+1"}, std::pair{"0", "1 "},
        std::pair{"x", "-1"}})
    EXPECT_FALSE(trims(first, last)) << first << ' ' << last;
  EXPECT_FALSE(is_idempotent(words({"LTRIM", "a"})));
}

TEST(redis_command, may_concern_the_connection) {
  for (auto x : {"MULTI", "multi", "SUBSCRIBE", "SELECT", "AUTH", "CLIENT",
                 "WATCH", "QUIT", "MONITOR", "HELLO", "WAIT", "waitaof"})
    EXPECT_TRUE(is_of_connection(words({x}))) << x;
  for (auto x : {"GET", "EVAL", "PUBLISH", ""})
    EXPECT_FALSE(is_of_connection(words({x}))) << x;
  EXPECT_FALSE(is_of_connection({}));
}

TEST(redis_error, means_what_its_first_word_says) {
  struct row {
    const char* text;
    answer_class kind;
    bool may_have_executed;
    std::uint32_t most;
  };
  for (auto& x :
       {row{"LOADING Redis is loading", answer_class::retry, false, 0},
        row{"READONLY You can't write", answer_class::retry, false, 2},
        row{"BUSY Redis is busy", answer_class::retry, false, 0},
        row{"MASTERDOWN Link with MASTER", answer_class::retry, false, 0},
        row{"OOM command not allowed", answer_class::shed, false, 0},
        row{"ERR max number of clients reached", answer_class::shed, false, 0},
        row{"ERR syntax error", answer_class::fail, true, 0},
        row{"BUSYKEY Target key name", answer_class::conflict, true, 0},
        row{"WRONGTYPE Operation", answer_class::fail, true, 0},
        row{"NOAUTH Authentication", answer_class::fail, true, 0},
        row{"LOADINGS", answer_class::fail, true, 0},
        row{"", answer_class::fail, true, 0}}) {
    auto info = redis_error_answer(x.text);
    EXPECT_EQ(info.kind, x.kind) << x.text;
    EXPECT_EQ(info.may_have_executed, x.may_have_executed) << x.text;
    EXPECT_EQ(info.max_attempts, x.most) << x.text;
    EXPECT_EQ(info.unanswered, x.kind == answer_class::retry) << x.text;
  }
}

TEST(redis_reply, is_judged_by_what_it_is) {
  auto adapter = redis_adapter();
  auto kind = [&](redis_reply x) {
    return adapter(caf::make_message(std::move(x)))->kind;
  };
  EXPECT_EQ(kind({.kind = redis_kind::nil}), answer_class::ok);
  EXPECT_EQ(kind({.kind = redis_kind::text, .text = "LOADING x"}),
            answer_class::ok);
  EXPECT_EQ(kind({.kind = redis_kind::error, .text = "LOADING x"}),
            answer_class::retry);
  EXPECT_FALSE(adapter(caf::make_message(1)));
}

} // namespace
} // namespace caisson::test
