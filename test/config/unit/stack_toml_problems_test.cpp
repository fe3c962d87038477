// Errors in stacks: each problem with its place and its key, all at once, and
// nothing half-built.
#include <support/kinds.hpp>
#include <support/problem_texts.hpp>
#include <support/scratch.hpp>
#include <support/stack_texts.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using texts = std::vector<std::string>;

struct mistake {
  std::string text;
  texts expected;
};

void PrintTo(const mistake& x, std::ostream* out) {
  *out << x.text;
}

class stack_toml_mistake : public testing::TestWithParam<mistake> {};

TEST_P(stack_toml_mistake, is_found_under_its_key) {
  problems found;
  auto file = read_stacks(parsed(GetParam().text), found);
  EXPECT_EQ(kinds_and_keys(found), GetParam().expected) << to_text(found);
  EXPECT_TRUE(file.stacks.empty());
}

// -- stacks and workers -------------------------------------------------------

const mistake stack_mistakes[] = {
  {"stack = 5", {"type stack"}},
  {"[[stack]]", {"type stack"}},
  {"[stack]\nx = 'y'", {"type stack.x"}},
  {"[stack.x]\nlayer = 1", {"type stack.x.layer"}},
  {"[stack.x.layer]\nkind = 'limiter'", {"type stack.x.layer"}},
  {"[stack.x]\nlayer = ['limiter']", {"type stack.x.layer[0]"}},
  {"[stack.x]\nworker = true", {"type stack.x.worker"}},
  {"[stack.x]\nmax_calls = 0", {"range stack.x.max_calls"}},
  {"[stack.x]\nsede = 3", {"unknown stack.x.sede"}},
  {"[stack.x]\npreset = 'reeds'", {"range stack.x.preset"}},
  {"[stack.x]\npreset = 'reads'\n[[stack.x.layer]]\nkind = 'limiter'",
   {"relation stack.x.preset"}},
  {"[[stack.x.layers]]\nkind = 'limiter'", {"unknown stack.x.layers"}},
  {"[stack.x.worker]\nmax_restarts = 1001",
   {"range stack.x.worker.max_restarts"}},
  {"[stack.x.worker]\nretsart = '1s'", {"unknown stack.x.worker.retsart"}},
};

INSTANTIATE_TEST_SUITE_P(stacks, stack_toml_mistake,
                         testing::ValuesIn(stack_mistakes));

// -- layers -------------------------------------------------------------------

const mistake layer_mistakes[] = {
  {"[[stack.x.layer]]\nname = 'db'\nsede = 1",
   {"missing stack.x.layer[0].kind"}},
  {"[[stack.x.layer]]\nkind = 'braker'\nthreshold = 0",
   {"unknown stack.x.layer[0].kind"}},
  {"[[stack.x.layer]]\nkind = 7", {"type stack.x.layer[0].kind"}},
  {"[[stack.x.layer]]\nkind = 'limiter'\n"
   "[[stack.x.layer]]\nkind = 'deadline'\ntimeuot = '1s'",
   {"unknown stack.x.layer[1].timeuot"}},
  {"[[stack.x.layer]]\nkind = 'semaphore'\npermits = 0",
   {"range stack.x.layer[0].permits"}},
  {"[[stack.x.layer]]\nkind = 'retrier'\nretry_on = ['tpyo']",
   {"range stack.x.layer[0].retry_on"}},
  {"[[stack.x.layer]]\nkind = 'retrier'\n"
   "backoff = [{ base = '1s' }, { kind = 'linear', factor = 2 }]",
   {"relation stack.x.layer[0].backoff[1].factor"}},
  {"[[stack.x.layer]]\nkind = 'deadline'\nmin_left = '2s'",
   {"relation stack.x.layer[0].min_left"}},
  {"[[stack.x.layer]]\nkind = 'batcher'\nmax_items = 20000",
   {"relation stack.x.layer[0].max_waiting"}},
  {"[[stack.x.layer]]\nkind = 'batcher'\nwhen_blocked = 'reject'\n"
   "max_delay = '0s'",
   {"relation stack.x.layer[0].when_blocked"}},
};

INSTANTIATE_TEST_SUITE_P(layers, stack_toml_mistake,
                         testing::ValuesIn(layer_mistakes));

// -- names of layers ----------------------------------------------------------

const mistake name_mistakes[] = {
  {"[[stack.x.layer]]\nkind = 'limiter'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'retrier'\nname = 'a'",
   {"relation stack.x.layer[1].name", "relation stack.x.layer[2].name"}},
  // By its kind.
  {"[[stack.x.layer]]\nkind = 'limiter'\n"
   "[[stack.x.layer]]\nkind = 'limiter'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'limiter-2'",
   {"relation stack.x.layer[2].name"}},
  // Layers that are wrong themselves have their names, too.
  {"[[stack.x.layer]]\nkind = 'lmiter'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'a'\nprobes = 0",
   {"unknown stack.x.layer[0].kind", "range stack.x.layer[1].probes",
    "relation stack.x.layer[1].name"}},
};

INSTANTIATE_TEST_SUITE_P(names, stack_toml_mistake,
                         testing::ValuesIn(name_mistakes));

TEST(stack_toml_problems, layers_of_different_stacks_may_have_one_name) {
  EXPECT_EQ(complaint("[[stack.x.layer]]\nkind = 'limiter'\nname = 'a'\n"
                      "[[stack.y.layer]]\nkind = 'limiter'\nname = 'a'\n"),
            "");
}

TEST(stack_toml_problems, more_than_32_layers_are_refused) {
  std::string text;
  for (int i = 0; i < 32; ++i)
    text += "[[stack.x.layer]]\nkind = 'limiter'\n";
  EXPECT_EQ(complaint(text), "");
  text += "[[stack.x.layer]]\nkind = 'limiter'\n";
  EXPECT_EQ(complaint(text),
            "f:1:1: stack.x.layer: 33 layers are too many, allowed: 0 to 32");
}

// -- alternatives of a fallback -----------------------------------------------

// A fallback with these alternatives.
mistake in_list(const std::string& list, const texts& expected) {
  mistake out{"[[stack.x.layer]]\nkind = 'fallback'\nalternatives = " + list,
              {}};
  for (const auto& x : expected) {
    auto space = x.find(' ');
    out.expected.push_back(x.substr(0, space + 1)
                           + "stack.x.layer[0].alternatives"
                           + x.substr(space + 1));
  }
  return out;
}

const mistake alternative_mistakes[] = {
  {"[[stack.x.layer]]\nkind = 'fallback'",
   {"missing stack.x.layer[0].alternatives"}},
  in_list("[]", {"missing "}),
  in_list("'sorry'", {"type "}),
  in_list("['sorry']", {"type [0]"}),
  in_list("[{}]", {"missing [0].value"}),
  in_list("[{ type = 'bool' }]", {"missing [0].value", "relation [0].type"}),
  in_list("[{ value = 1, actor = 'a' }]", {"relation [0].actor"}),
  in_list("[{ actor = 'a', type = 'bool' }]", {"relation [0].type"}),
  in_list("[{ valeu = 1 }]", {"unknown [0].valeu"}),
  in_list("[{ value = 1.5 }]", {"type [0].value"}),
  in_list("[{ value = [1] }]", {"type [0].value"}),
  in_list("[{ value = {} }]", {"type [0].value"}),
  in_list("[{ value = 1, type = 'float' }]", {"range [0].type"}),
  in_list("[{ value = 1, type = 'string' }]", {"type [0].value"}),
  in_list("[{ value = 'x', type = 'bool' }]", {"type [0].value"}),
  in_list("[{ value = true, type = 'int64' }]", {"type [0].value"}),
  in_list("[{ value = 2147483648, type = 'int32' }]", {"range [0].value"}),
  in_list("[{ value = 1 }, { actor = 2 }]", {"type [1].actor"}),
  in_list("[{ actor = 'prices' }]", {"unknown [0].actor"}),
};

INSTANTIATE_TEST_SUITE_P(alternatives, stack_toml_mistake,
                         testing::ValuesIn(alternative_mistakes));

// -- all at once --------------------------------------------------------------

// As users read them.
TEST(stack_toml_problems, are_those_of_all_stacks_layers_and_workers) {
  EXPECT_EQ(complaint("[stack.a]\n"
                      "max_calls = 0\n"
                      "[[stack.a.layer]]\n"
                      "kind = 'semaphore'\n"
                      "permits = 0\n"
                      "order = 'lilo'\n"
                      "[[stack.a.layer]]\n"
                      "kind = 'breaker'\n"
                      "porbes = 0\n"
                      "[stack.a.worker]\n"
                      "on_give_up = 'cry'\n"
                      "[[stack.b.layer]]\n"
                      "kind = 'fallback'\n"
                      "alternatives = [{}, { actor = 'x' }]\n"
                      "[[stack.c.layer]]\n"
                      "name = 'limiter'\n"),
            "f:2:13: stack.a.max_calls: 0 is out of range, allowed: 1 to "
            "16000000\n"
            "f:5:11: stack.a.layer[0].permits: 0 is out of range, allowed: 1 "
            "to 1000000\n"
            "f:6:9: stack.a.layer[0].order: \"lilo\" is not one of: fifo, "
            "lifo, adaptive_lifo, codel, deadline_first, priority, fair\n"
            "f:9:10: stack.a.layer[1].porbes: unknown key, did you mean "
            "\"probes\"? known keys: kind, per_key, name, mode, trip, trip_if, "
            "threshold, quiet_period, failure_rate, slow_call, slow_rate, "
            "window_calls, window_time, window_buckets, minimum_calls, "
            "slow_minimum_calls, score, limit_at, limit_floor, "
            "open, eager_half_open, probes, successes_to_close, "
            "probe_timeout, half_open_retry_after, half_open_max, "
            "after_half_open_max, ramp, ramp_from, count_attempt_timeouts, "
            "initial, count_only, ignore\n"
            "f:11:14: stack.a.worker.on_give_up: \"cry\" is not one of: quit, "
            "refuse\n"
            "f:14:17: stack.b.layer[0].alternatives[0].value: is missing, "
            "allowed: a string, an integer or a boolean, or else actor\n"
            "f:14:31: stack.b.layer[0].alternatives[1].actor: \"x\" cannot be "
            "looked up without an actor system\n"
            "f:15:1: stack.c.layer[0].kind: is missing, allowed: "
              + listed_kinds());
}

TEST(stack_toml_problems, are_appended_to_those_there_are) {
  problems found{{problem_kind::range, "k", "m", "p"}};
  EXPECT_TRUE(read_stacks(parsed("stack = 5"), found).stacks.empty());
  EXPECT_EQ(to_text(found), "p: k: m\nf:1:9: stack: 5 is not a table");
  // Those of others do not keep a good stack from being read.
  EXPECT_EQ(read_stacks(parsed("[stack.x]"), found).stacks.size(), 1u);
  EXPECT_EQ(found.size(), 2u);
}

TEST(stack_toml_problems, under_another_key_have_that_in_front) {
  problems found;
  auto table = parsed("sede = 1\nlayer = [{}]\nworker = 3");
  EXPECT_FALSE(stack_from(table, "s", "arm.a", "f:9:9", found));
  EXPECT_EQ(kinds_and_keys(found),
            (texts{"missing arm.a.layer[0].kind", "type arm.a.worker",
                   "unknown arm.a.sede"}));
}

// -- files --------------------------------------------------------------------

// What `load_stacks` throws for the file, with its path as `f`.
std::string complaint_of_file(const std::string& path) {
  try {
    (void)load_stacks(path);
  } catch (const config_error& e) {
    EXPECT_EQ(e.what(), to_text(e.all()));
    std::string text = e.what();
    for (auto i = text.find(path); i != std::string::npos; i = text.find(path))
      text.replace(i, path.size(), "f");
    return text;
  }
  return {};
}

std::string complaint_of_file_with(const std::string& text) {
  scratch_dir dir;
  return complaint_of_file(dir.write("stacks.toml", text));
}

TEST(stack_toml_file, that_is_right_is_loaded) {
  EXPECT_EQ(complaint_of_file_with("[[stack.x.layer]]\nkind = 'limiter'"), "");
  EXPECT_EQ(complaint_of_file_with(""), "");
}

TEST(stack_toml_file, that_cannot_be_read_is_one_problem) {
  scratch_dir dir;
  EXPECT_EQ(complaint_of_file(dir / "none.toml"),
            "f: cannot be read: No such file or directory");
  EXPECT_EQ(complaint_of_file(dir.path()), "f: cannot be read: Is a directory");
}

TEST(stack_toml_file, that_is_no_toml_is_one_problem) {
  auto text = complaint_of_file_with("[stack.x\nseed = 0\n");
  EXPECT_TRUE(text.starts_with("f:1:9: not TOML: ")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(stack_toml_file, has_nothing_but_stacks) {
  EXPECT_EQ(complaint_of_file_with("title = 'x'\n[stacks.x]\nseed = -1\n"
                                   "[stack.y]\nseed = -1\n"),
            "f:5:8: stack.y.seed: -1 is out of range, allowed: at least 0\n"
            "f:2:1: stacks: unknown key, did you mean \"stack\"? known keys: "
            "stack\n"
            "f:1:9: title: unknown key, known keys: stack");
}

TEST(stack_toml_file, reports_a_value_of_no_type_only_once) {
  EXPECT_EQ(complaint_of_file_with("[[stack.x.layer]]\nkind = inf\n"
                                   "[[stack.x.layer]]\nkind = 'limiter'\n"
                                   "burst = 0\n"),
            "f:2:8: stack.x.layer[0].kind: inf is not a finite number; where "
            "a duration may be without end, write \"unlimited\"\n"
            "f:5:9: stack.x.layer[1].burst: 0 is out of range, allowed: 1 to "
            "1000000000");
}

} // namespace
} // namespace caisson::test
