// What is refused: each problem with its place and its key, all at once, and
// nothing half-built.
#include <support/kinds.hpp>
#include <support/scratch.hpp>
#include <support/stack_texts.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

struct mistake {
  std::string text;
  std::string expected;
};

void PrintTo(const mistake& x, std::ostream* out) {
  *out << x.text;
}

class stack_toml_mistake : public testing::TestWithParam<mistake> {};

TEST_P(stack_toml_mistake, is_reported_with_its_place_and_key) {
  EXPECT_EQ(complaint(GetParam().text), GetParam().expected);
}

// -- tables and lists ---------------------------------------------------------

const mistake shapes[] = {
  {"stack = 5", "f:1:9: stack: 5 is not a table"},
  {"[[stack]]", "f:1:1: stack: a list is not a table"},
  {"[stack]\nx = 'y'", "f:2:5: stack.x: \"y\" is not a table"},
  {"[stack.x]\nlayer = 1",
   "f:2:9: stack.x.layer: 1 is not a list, allowed: a list of tables; in TOML "
   "each may begin with [[stack.x.layer]]"},
  {"[stack.x.layer]\nkind = 'limiter'",
   "f:1:1: stack.x.layer: a table is not a list, allowed: a list of tables; "
   "in TOML each may begin with [[stack.x.layer]]"},
  {"[stack.x]\nlayer = ['limiter']",
   "f:2:10: stack.x.layer[0]: \"limiter\" is not a table"},
  {"[stack.x]\nworker = true", "f:2:10: stack.x.worker: true is not a table"},
};

INSTANTIATE_TEST_SUITE_P(shapes, stack_toml_mistake, testing::ValuesIn(shapes));

// -- stacks and workers -------------------------------------------------------

const mistake stacks[] = {
  {"[stack.x]\ndefault_deadline = '0s'",
   "f:2:20: stack.x.default_deadline: \"0s\" is out of range, allowed: 1ms to "
   "unlimited"},
  {"[stack.x]\nmax_calls = 0",
   "f:2:13: stack.x.max_calls: 0 is out of range, allowed: 1 to 16000000"},
  {"[stack.x]\nname = 3",
   "f:2:8: stack.x.name: 3 is not a string, allowed: a text in quotes"},
  {"[stack.x]\nsede = 3",
   "f:2:8: stack.x.sede: unknown key, did you mean \"seed\"? known keys: name, "
   "default_deadline, max_calls, seed, layer, worker"},
  {"[[stack.x.layers]]\nkind = 'limiter'",
   "f:1:1: stack.x.layers: unknown key, did you mean \"layer\"? known keys: "
   "name, default_deadline, max_calls, seed, layer, worker"},
  {"[stack.x.worker]\nmax_restarts = 1001",
   "f:2:16: stack.x.worker.max_restarts: 1001 is out of range, allowed: 0 to "
   "1000"},
  {"[stack.x.worker]\nretsart = '1s'",
   "f:2:11: stack.x.worker.retsart: unknown key, did you mean \"restart\"? "
   "known keys: restart, max_restarts, period, stable_after, max_waiting, "
   "on_give_up"},
};

INSTANTIATE_TEST_SUITE_P(stacks, stack_toml_mistake, testing::ValuesIn(stacks));

// -- layers -------------------------------------------------------------------

const mistake layers[] = {
  {"[[stack.x.layer]]\nname = 'db'",
   "f:1:1: stack.x.layer[0].kind: is missing, allowed: " + listed_kinds()},
  {"[[stack.x.layer]]\nkind = 'braker'\nthreshold = 0",
   "f:2:8: stack.x.layer[0].kind: \"braker\" is no kind of layer, "
   "did you mean \"breaker\"? allowed: "
     + listed_kinds()},
  {"[[stack.x.layer]]\nkind = 7",
   "f:2:8: stack.x.layer[0].kind: 7 is no kind of layer, allowed: "
     + listed_kinds()},
  {"[[stack.x.layer]]\nkind = 'limiter'\n"
   "[[stack.x.layer]]\nkind = 'deadline'\ntimeuot = '1s'",
   "f:5:11: stack.x.layer[1].timeuot: unknown key, did you mean \"timeout\"? "
   "known keys: kind, name, mode, timeout, min_left"},
  {"[[stack.x.layer]]\nkind = 'semaphore'\npermits = 0",
   "f:3:11: stack.x.layer[0].permits: 0 is out of range, allowed: 1 to "
   "1000000"},
  {"[[stack.x.layer]]\nkind = 'limiter'\nmode = 'fast'",
   "f:3:8: stack.x.layer[0].mode: \"fast\" is not one of: enforce, observe, "
   "off"},
  {"[[stack.x.layer]]\nkind = 'retrier'\nretry_on = ['tpyo']",
   "f:3:12: stack.x.layer[0].retry_on: \"tpyo\" names no error, allowed: a "
   "caisson error such as \"deadline_exceeded\", \"<category>:<1 to 255>\" or "
   "\"<category>:*\""},
  {"[[stack.x.layer]]\nkind = 'retrier'\n"
   "backoff = [{ base = '1s' }, { kind = 'linear', factor = 2 }]",
   "f:3:57: stack.x.layer[0].backoff[1].factor: factor applies to exponential "
   "and decorrelated only, this is linear"},
  // A relation is placed at the value that it names, or else at its table.
  {"[[stack.x.layer]]\nkind = 'deadline'\nmin_left = '2s'",
   "f:3:12: stack.x.layer[0].min_left: 2s is more than timeout, allowed: 0s to "
   "1s"},
  {"[[stack.x.layer]]\nkind = 'batcher'\nmax_items = 20000",
   "f:1:1: stack.x.layer[0].max_waiting: 10000 is less than max_items, "
   "allowed: 20000 to 1000000"},
};

INSTANTIATE_TEST_SUITE_P(layers, stack_toml_mistake, testing::ValuesIn(layers));

// -- names of layers ----------------------------------------------------------

const mistake names[] = {
  {"[[stack.x.layer]]\nkind = 'limiter'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'a'",
   "f:6:8: stack.x.layer[1].name: \"a\" is the name of layer[0] already"},
  // By its kind.
  {"[[stack.x.layer]]\nkind = 'limiter'\n"
   "[[stack.x.layer]]\nkind = 'limiter'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'limiter-2'",
   "f:7:8: stack.x.layer[2].name: \"limiter-2\" is the name of layer[1] "
   "already"},
  {"[[stack.x.layer]]\nkind = 'limiter'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'retrier'\nname = 'a'",
   "f:6:8: stack.x.layer[1].name: \"a\" is the name of layer[0] already\n"
   "f:9:8: stack.x.layer[2].name: \"a\" is the name of layer[0] already"},
  // Layers that are wrong themselves have their names, too.
  {"[[stack.x.layer]]\nkind = 'lmiter'\nname = 'a'\n"
   "[[stack.x.layer]]\nkind = 'breaker'\nname = 'a'\nprobes = 0",
   "f:2:8: stack.x.layer[0].kind: \"lmiter\" is no kind of layer, "
   "did you mean \"limiter\"? allowed: "
     + listed_kinds()
     + "\n"
       "f:7:10: stack.x.layer[1].probes: 0 is out of range, allowed: 1 to 1000\n"
       "f:6:8: stack.x.layer[1].name: \"a\" is the name of layer[0] already"},
};

INSTANTIATE_TEST_SUITE_P(names, stack_toml_mistake, testing::ValuesIn(names));

TEST(stack_toml_problems, layers_of_different_stacks_may_have_one_name) {
  EXPECT_EQ(complaint("[[stack.x.layer]]\nkind = 'limiter'\nname = 'a'\n"
                      "[[stack.y.layer]]\nkind = 'limiter'\nname = 'a'\n"),
            "");
}

TEST(stack_toml_problems, more_than_32_layers_are_refused) {
  std::string text;
  for (int i = 0; i < 33; ++i)
    text += "[[stack.x.layer]]\nkind = 'limiter'\n";
  EXPECT_EQ(complaint(text),
            "f:1:1: stack.x.layer: 33 layers are too many, allowed: 0 to 32");
}

// -- alternatives of a fallback -----------------------------------------------

// A fallback with these alternatives, which begin at 3:16.
mistake in_list(const std::string& list, const std::string& where,
                const std::string& what) {
  return {"[[stack.x.layer]]\nkind = 'fallback'\nalternatives = " + list,
          "f:3:" + where + what};
}

const mistake alternatives[] = {
  {"[[stack.x.layer]]\nkind = 'fallback'",
   "f:1:1: stack.x.layer[0].alternatives: a fallback needs at least one "
   "alternative"},
  in_list("[]", "16: stack.x.layer[0].alternatives",
          ": a fallback needs at least one alternative"),
  in_list("'sorry'", "16: stack.x.layer[0].alternatives",
          ": \"sorry\" is not a list, allowed: a list of tables; in TOML each "
          "may begin with [[stack.x.layer[0].alternatives]]"),
  in_list("['sorry']", "17: stack.x.layer[0].alternatives[0]",
          ": \"sorry\" is not a table"),
  in_list("[{}]", "17: stack.x.layer[0].alternatives[0]",
          ": has no answer, allowed: either value or actor"),
  in_list("[{ type = 'bool' }]", "17: stack.x.layer[0].alternatives[0]",
          ": has no answer, allowed: either value or actor"),
  in_list("[{ value = 1, actor = 'a' }]",
          "17: stack.x.layer[0].alternatives[0]",
          ": value and actor cannot be given both"),
  in_list("[{ valeu = 1 }]", "27: stack.x.layer[0].alternatives[0].valeu",
          ": unknown key, did you mean \"value\"? known keys: value, type, "
          "actor"),
  in_list("[{ value = 1.5 }]", "27: stack.x.layer[0].alternatives[0].value",
          ": 1.5 cannot be an answer, allowed: a string, an integer or a "
          "boolean"),
  in_list("[{ value = [1] }]", "27: stack.x.layer[0].alternatives[0].value",
          ": a list cannot be an answer, allowed: a string, an integer or a "
          "boolean"),
  in_list("[{ value = {} }]", "27: stack.x.layer[0].alternatives[0].value",
          ": a table cannot be an answer, allowed: a string, an integer or a "
          "boolean"),
  in_list("[{ value = 1, type = 'float' }]",
          "37: stack.x.layer[0].alternatives[0].type",
          ": \"float\" is not one of: string, int64, int32, bool"),
  in_list("[{ value = 1, type = 'string' }]",
          "27: stack.x.layer[0].alternatives[0].value",
          ": 1 is not a string, allowed: a text in quotes"),
  in_list("[{ value = 'x', type = 'bool' }]",
          "27: stack.x.layer[0].alternatives[0].value",
          ": \"x\" is not a boolean, allowed: true, false"),
  in_list("[{ value = true, type = 'int64' }]",
          "27: stack.x.layer[0].alternatives[0].value",
          ": true is not an integer, allowed: any integer"),
  in_list("[{ value = 2147483648, type = 'int32' }]",
          "27: stack.x.layer[0].alternatives[0].value",
          ": 2147483648 is out of range, allowed: -2147483648 to 2147483647"),
  in_list("[{ value = 1 }, { actor = 2 }]",
          "42: stack.x.layer[0].alternatives[1].actor",
          ": 2 is not a string, allowed: a text in quotes"),
  in_list("[{ actor = 'prices' }]",
          "27: stack.x.layer[0].alternatives[0].actor",
          ": \"prices\" cannot be looked up, there is no actor system here"),
};

INSTANTIATE_TEST_SUITE_P(alternatives, stack_toml_mistake,
                         testing::ValuesIn(alternatives));

TEST(stack_toml_problems, an_actor_has_no_type) {
  EXPECT_EQ(complaint("[[stack.x.layer]]\n"
                      "kind = 'fallback'\n"
                      "alternatives = [{ actor = 'a', type = 'bool' }]"),
            "f:3:39: stack.x.layer[0].alternatives[0].type: type applies to "
            "a value only, this is an actor\n"
            "f:3:27: stack.x.layer[0].alternatives[0].actor: \"a\" cannot be "
            "looked up, there is no actor system here");
}

// -- all at once --------------------------------------------------------------

TEST(stack_toml_problems, are_those_of_all_stacks_layers_and_workers) {
  EXPECT_EQ(complaint("[stack.a]\n"
                      "max_calls = 0\n"
                      "[[stack.a.layer]]\n"
                      "kind = 'semaphore'\n"
                      "permits = 0\n"
                      "order = 'lilo'\n"
                      "[[stack.a.layer]]\n"
                      "kind = 'breaker'\n"
                      "probes = 0\n"
                      "[stack.a.worker]\n"
                      "on_give_up = 'cry'\n"
                      "[stack.b.worker]\n"
                      "max_restarts = -1\n"
                      "[[stack.c.layer]]\n"
                      "kind = 'limiter'\n"),
            "f:2:13: stack.a.max_calls: 0 is out of range, allowed: 1 to "
            "16000000\n"
            "f:5:11: stack.a.layer[0].permits: 0 is out of range, allowed: 1 "
            "to 1000000\n"
            "f:6:9: stack.a.layer[0].order: \"lilo\" is not one of: fifo, "
            "lifo\n"
            "f:9:10: stack.a.layer[1].probes: 0 is out of range, allowed: 1 "
            "to 1000\n"
            "f:11:14: stack.a.worker.on_give_up: \"cry\" is not one of: quit, "
            "refuse\n"
            "f:13:16: stack.b.worker.max_restarts: -1 is out of range, "
            "allowed: 0 to 1000");
}

TEST(stack_toml_problems, are_appended_to_those_there_are) {
  problems found{{"p", "k", "m"}};
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
  EXPECT_EQ(to_text(found),
            "f:1:8: arm.a.sede: unknown key, did you mean \"seed\"? known "
            "keys: name, default_deadline, max_calls, seed, layer, worker\n"
            "f:2:10: arm.a.layer[0].kind: is missing, allowed: "
              + listed_kinds()
              + "\n"
                "f:3:10: arm.a.worker: 3 is not a table");
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
            "1000000");
}

} // namespace
} // namespace caisson::test
