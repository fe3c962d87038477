#include <caisson/policies/cache/cache.hpp>

#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- answers ------------------------------------------------------------------

TEST(cache, answers_from_what_it_keeps_until_its_time_is_over) {
  cache_rig h{{.ttl = 10s}};
  auto a = h.read("k");
  EXPECT_EQ(h.got(a), "...");
  h.pass(5s);
  h.reply(1, "v");
  EXPECT_EQ(h.got(a), "v");
  struct {
    duration at;
    const char* got;
  } const rows[] = {{5s, "v"}, {14s, "v"}, {15s - 1ns, "v"}, {15s, "..."}};
  for (const auto& row : rows) {
    h.advance_to(row.at);
    EXPECT_EQ(h.get("k"), row.got) << to_text(row.at);
  }
  EXPECT_EQ(h.count("hits"), 3);
  EXPECT_EQ(h.count("misses"), 2);
  EXPECT_EQ(h.count("expired"), 1);
  EXPECT_EQ(h.count("stored"), 1);
  EXPECT_EQ(h.count("entries"), 0);
}

TEST(cache, an_answer_without_end_stays) {
  cache_rig h{{.ttl = unlimited}};
  h.read("k");
  h.reply(1, "v");
  h.pass(1'000'000h);
  EXPECT_EQ(h.get("k"), "v");
}

TEST(cache, keeps_keys_apart) {
  cache_rig h;
  h.read("k");
  h.read("l");
  h.reply(2, "of l");
  h.reply(1, "of k");
  EXPECT_EQ(h.get("k"), "of k");
  EXPECT_EQ(h.get("l"), "of l");
}

TEST(cache, a_call_without_a_usable_key_bypasses_it) {
  cache_rig h;
  auto longest = std::string(cache::longest_key, 'x');
  EXPECT_EQ(h.get(""), "below");
  EXPECT_EQ(h.get(longest + "x"), "below");
  EXPECT_EQ(h.got(h.read("k", {.use = cache_use::bypass})), "below");
  EXPECT_EQ(h.count("bypassed"), 3);
  EXPECT_EQ(h.get(longest), "...");
  h.reply_to(1, "v");
  EXPECT_EQ(h.got(1), "v");
  EXPECT_EQ(h.count("stored"), 0);
}

TEST(cache, goes_by_the_key_that_the_host_found) {
  cache_rig h;
  h.read("tenant", {.key = "k"});
  h.reply(1, "v");
  EXPECT_EQ(h.got(h.read("another", {.key = "k"})), "v");
  EXPECT_EQ(h.got(h.read("k", {.key = "tenant"})), "...");
  EXPECT_EQ(h.got(h.read("k", {.key = ""})), "below");
}

TEST(cache, may_be_for_idempotent_calls_only) {
  cache_rig h{{.cacheable = cacheable_calls::idempotent}};
  EXPECT_EQ(h.get("k"), "below");
  call_info no;
  no.idempotent = idempotence::no;
  EXPECT_EQ(h.got(h.read("k", {}, no)), "below");
  call_info yes;
  yes.idempotent = idempotence::yes;
  EXPECT_EQ(h.got(h.read("k", {}, yes)), "...");
}

TEST(cache, a_value_may_say_how_long_it_answers) {
  cache_rig h{{.ttl = 10s}};
  h.read("k");
  h.reply(1, "for 30 seconds");
  h.pass(29s);
  EXPECT_EQ(h.get("k"), "for 30 seconds");
  h.pass(1s);
  auto b = h.read("k");
  h.reply(2, "for 0 seconds");
  EXPECT_EQ(h.got(b), "for 0 seconds");
  EXPECT_EQ(h.get("k"), "...");
  EXPECT_EQ(h.count("not_stored"), 1);
}

TEST(cache, a_value_whose_time_nobody_knows_is_not_kept) {
  cache_rig h;
  auto a = h.read("k");
  h.reply(1, "boom");
  EXPECT_EQ(h.got(a), "boom");
  EXPECT_EQ(h.get("k"), "...");
  EXPECT_EQ(h.count("callbacks_failed"), 1);
  EXPECT_EQ(h.e.reports, (strings{"callback_failed:>"}));
  // The call does not fail because of it.
  EXPECT_TRUE(h.e.threw.empty());
}

// -- bounds -------------------------------------------------------------------

TEST(cache, evicts_what_was_not_used_for_longest) {
  cache_rig h{{.max_entries = 2}};
  for (const auto* key : {"a", "b"}) {
    h.read(key);
    h.reply(h.children(), key);
  }
  h.get("a");
  h.read("c");
  h.reply(3, "c");
  EXPECT_EQ(h.count("entries"), 2);
  EXPECT_EQ(h.count("evicted"), 1);
  EXPECT_EQ(h.get("a"), "a");
  EXPECT_EQ(h.get("c"), "c");
  EXPECT_EQ(h.get("b"), "...");
}

TEST(cache, a_lower_bound_evicts_at_once) {
  cache_rig h;
  for (int i = 1; i <= 5; ++i) {
    h.read(std::to_string(i));
    h.reply(h.children(), "v");
  }
  h.reconfigure({.max_entries = 2});
  EXPECT_EQ(h.count("entries"), 2);
  EXPECT_EQ(h.count("evicted"), 3);
  EXPECT_EQ(h.get("5"), "v");
  EXPECT_EQ(h.get("3"), "...");
}

TEST(cache, an_evicted_answer_still_arrives_at_its_call) {
  cache_rig h{{.max_entries = 1}};
  h.read("k");
  h.reply(1, "v");
  h.read("l");
  call_info call;
  call.key = "k";
  // Named, but not handed over when the other one comes.
  auto b = h.arrive(call);
  h.reply(2, "w");
  EXPECT_EQ(h.count("evicted"), 1);
  EXPECT_EQ(h.got(b), "v");
  EXPECT_EQ(h.get("l"), "w");
}

TEST(cache, reset_drops_everything_and_what_is_being_loaded) {
  cache_rig h;
  h.read("k");
  h.reply(1, "v");
  auto b = h.read("l");
  h.reset();
  EXPECT_EQ(h.count("entries"), 0);
  EXPECT_EQ(h.count("hits"), 0);
  // Nor does anybody join what began before.
  EXPECT_EQ(h.get("l"), "...");
  EXPECT_EQ(h.children(), 3u);
  h.reply(2, "old");
  EXPECT_EQ(h.got(b), "old");
  EXPECT_EQ(h.count("entries"), 0);
  h.reply(3, "new");
  EXPECT_EQ(h.get("l"), "new");
  EXPECT_EQ(h.get("k"), "...");
}

TEST(cache, begins_with_what_it_is_given) {
  cache_rig h{{.ttl = 10s, .max_entries = 2}};
  EXPECT_TRUE(h.preheat("a", "1"));
  EXPECT_FALSE(h.preheat("a", "2"));
  EXPECT_FALSE(h.preheat("", "2"));
  EXPECT_TRUE(h.preheat("b", "2"));
  EXPECT_FALSE(h.preheat("c", "3"));
  EXPECT_EQ(h.count("preheated"), 2);
  EXPECT_EQ(h.get("a"), "1");
  EXPECT_EQ(h.get("b"), "2");
  EXPECT_EQ(h.get("c"), "...");
  h.pass(10s);
  EXPECT_EQ(h.get("a"), "...");
}

// -- changes ------------------------------------------------------------------

TEST(cache, a_change_drops_the_answer_when_it_comes_and_when_it_is_done) {
  cache_rig h;
  h.read("k");
  h.reply(1, "old");
  auto w = h.change("k");
  EXPECT_EQ(h.got(w), "below");
  h.read("k");
  h.reply(2, "read during the change");
  EXPECT_EQ(h.get("k"), "read during the change");
  h.reply_to(w, "done");
  EXPECT_EQ(h.got(w), "done");
  EXPECT_EQ(h.get("k"), "...");
  h.reply(3, "new");
  EXPECT_EQ(h.get("k"), "new");
  EXPECT_EQ(h.count("invalidated"), 1);
}

TEST(cache, what_began_before_a_change_is_not_kept_after_it) {
  cache_rig h;
  auto a = h.read("k");
  auto w = h.change("k");
  h.reply_to(w, "done");
  h.reply(1, "old");
  EXPECT_EQ(h.got(a), "old");
  EXPECT_EQ(h.get("k"), "...");
}

TEST(cache, a_change_that_leaves_may_still_have_happened) {
  cache_rig h;
  auto w = h.change("k");
  h.read("k");
  h.reply(1, "v");
  h.drop(w);
  EXPECT_EQ(h.get("k"), "...");
}

// -- errors -------------------------------------------------------------------

TEST(cache, keeps_no_errors_by_default) {
  cache_rig h;
  auto a = h.read("k");
  h.reply(1, "!none");
  EXPECT_EQ(h.got(a), "!none");
  EXPECT_EQ(h.get("k"), "...");
  EXPECT_EQ(h.count("entries"), 0);
}

TEST(cache, keeps_errors_that_are_about_the_key_if_it_may) {
  cache_rig h{{.ttl = 10s, .negative_ttl = 2s, .stale_while = 10s}};
  h.read("k");
  h.reply(1, "!none");
  h.pass(2s - 1ns);
  EXPECT_EQ(h.get("k"), "!none");
  h.pass(1ns);
  // Never longer than that.
  EXPECT_EQ(h.get("k"), "...");
  EXPECT_EQ(h.count("negative_hits"), 1);
  EXPECT_EQ(h.count("stored_negative"), 1);
}

TEST(cache, does_not_keep_what_others_say_about_the_worker) {
  cache_rig h{{.negative_ttl = 2s}};
  for (auto code : {errc::breaker_open, errc::worker_down, errc::shed}) {
    h.read("k");
    h.refuse(h.children(), code);
    EXPECT_EQ(h.get("k"), "...") << name_of(code);
    h.refuse(h.children(), code);
  }
}

TEST(cache, keeps_only_what_is_about_the_key) {
  using enum answer_class;
  struct {
    answer_class kind;
    bool unanswered;
    bool kept;
  } const rows[] = {
    {fail, false, true},   {conflict, false, true},
    {retry, false, false}, {retry_after, false, false},
    {shed, false, false},  {unknown, false, false},
    {retry, true, false},  {shed, true, false},
  };
  for (const auto& row : rows) {
    cache_rig h{{.negative_ttl = 2s}};
    h.read("k");
    if (row.unanswered)
      h.no_answer(1, row.kind);
    else
      h.answer(1, row.kind, 0s);
    EXPECT_EQ(h.count("stored_negative"), row.kept ? 1 : 0)
      << name_of(row.kind) << row.unanswered;
  }
}

TEST(cache, keeps_no_error_without_any_answer_whatever_is_listed) {
  cache_config c{.negative_ttl = 2s};
  c.negative.allow = {"class:retry", "app:*"};
  cache_rig h{c};
  h.read("k");
  h.no_answer(1);
  EXPECT_EQ(h.get("k"), "...");
  h.answer(2, answer_class::retry, 0s);
  EXPECT_EQ(h.get("k"), "!");
}

TEST(cache, keeps_the_errors_on_a_list) {
  struct {
    strings allow;
    strings deny;
    bool kept;
  } const rows[] = {
    {{}, {}, true},
    {{"app:3"}, {}, true},
    {{"class:fail"}, {}, true},
    {{}, {"class:fail"}, false},
    {{"app:*"}, {}, true},
    {{"app:4"}, {}, false},
    {{}, {"app:3"}, false},
    {{"app:*"}, {"app:3"}, false},
  };
  for (const auto& row : rows) {
    cache_config c{.negative_ttl = 2s};
    c.negative.allow = row.allow;
    c.negative.deny = row.deny;
    cache_rig h{c};
    h.read("k");
    h.reply(1, "!none");
    EXPECT_EQ(h.get("k"), row.kept ? "!none" : "...");
  }
}

TEST(cache, a_function_may_choose_the_errors_that_are_kept) {
  cache_config c{.negative_ttl = 2s};
  c.negative.by_value = [](const outcome& o) {
    return o.code == 3 ? verdict::failure : verdict::neutral;
  };
  cache_rig h{c};
  h.read("k");
  h.reply(1, "!none");
  EXPECT_EQ(h.get("k"), "!none");
}

// -- settings -----------------------------------------------------------------

TEST(cache, refuses_lists_without_sense) {
  cache_config c{.max_entries = 0};
  c.failures.allow = {"no such error"};
  c.negative.allow = c.negative.deny = {"app:1"};
  try {
    cache x{c};
    FAIL() << "accepted";
  } catch (const config_error& e) {
    ASSERT_EQ(e.all().size(), 3u) << e.what();
    EXPECT_EQ(to_text(e.all()[0].key), "max_entries");
    EXPECT_EQ(to_text(e.all()[1].key), "stale_on");
    EXPECT_EQ(to_text(e.all()[2].key), "negative_on");
  }
}

} // namespace
} // namespace caisson::test
