// Settings written as TOML.
#include <simulator/scenario/sweep_values.hpp>
#include <simulator/scenario/toml_text.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/toml.hpp>

#include <support/random_world.hpp>
#include <support/source_dir.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace caisson::sim {
namespace {

// As `canonical_text`, but in the order of the file.
std::string ordered_text(const setting& s) {
  std::string out;
  if (auto table = std::get_if<settings>(&s.value)) {
    // Tables come after values in a document.
    for (auto tables : {false, true})
      for (const auto& [key, value] : detail::in_file_order(*table))
        if (std::holds_alternative<settings>(value->value) == tables)
          out += std::string{key} + "=" + ordered_text(*value) + ";";
    return "{" + out + "}";
  }
  if (auto list = std::get_if<std::vector<setting>>(&s.value)) {
    for (const auto& item : *list)
      out += ordered_text(item) + ",";
    return "[" + out + "]";
  }
  return canonical_text(s);
}

settings toml_of(const std::string& text) {
  problems found;
  auto out = parse_toml(text, "x.toml", found);
  EXPECT_EQ(to_text(found), "");
  return out;
}

void expect_same_again(const settings& root) {
  auto again = toml_of(toml_text(root));
  EXPECT_EQ(canonical_text(again), canonical_text(root));
}

TEST(toml_text, writes_sections_as_people_do) {
  auto root = toml_of(R"(
stack.few.layer = [{ kind = "semaphore", permits = 3 }, { kind = "deadline" }]
service.web = { workers = 2, calls = ["db", { to = "db", count = 2 }] }
service.db.op = { read.time = "1ms", "two words".time = "2ms" }
fault = [{ kind = "crash", target = "db" }]
title = "A \"shop\"\n"
load.users.mix = { "web" = 2, "db.read" = 1.0 }
expect.check = [{ metric = "success", min = 0.5 }]
arm.empty = {}
)");
  EXPECT_EQ(toml_text(root), R"(title = "A \"shop\"\u000a"

[stack.few]

[[stack.few.layer]]
kind = "semaphore"
permits = 3

[[stack.few.layer]]
kind = "deadline"

[service.web]
workers = 2
calls = ["db", { to = "db", count = 2 }]

[service.db]

[service.db.op.read]
time = "1ms"

[service.db.op."two words"]
time = "2ms"

[[fault]]
kind = "crash"
target = "db"

[load.users]
mix = { web = 2, "db.read" = 1.0 }

[expect]
check = [{ metric = "success", min = 0.5 }]

[arm.empty]
)");
}

TEST(toml_text, breaks_lines_that_are_long) {
  auto root = toml_of(R"(
[arm.tuned]
stack = { gateway = { layer = [{ kind = "limiter", rate = 600, burst = 60 },
{ kind = "breaker", threshold = 5 }] } }
service = { web = { workers = 5 } }
)");
  EXPECT_EQ(toml_text(root), R"(
[arm.tuned]
stack.gateway.layer = [
  { kind = "limiter", rate = 600, burst = 60 },
  { kind = "breaker", threshold = 5 },
]
service = { web = { workers = 5 } }
)");
  expect_same_again(root);
}

TEST(toml_text, reads_back_to_the_same_for_all_scenarios) {
  std::size_t files = 0;
  namespace fs = std::filesystem;
  for (const auto& entry :
       fs::recursive_directory_iterator{test::source_path("demos/scenarios")}) {
    if (entry.path().extension() != ".toml")
      continue;
    SCOPED_TRACE(entry.path());
    problems found;
    expect_same_again(read_toml_file(entry.path(), found));
    ++files;
  }
  EXPECT_GT(files, 20u);
}

TEST(toml_text, keeps_the_order_of_random_worlds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto root = toml_of(test::random_world{seed}.text());
    expect_same_again(root);
    EXPECT_EQ(ordered_text({toml_of(toml_text(root)), {}}),
              ordered_text({root, {}}))
      << seed;
  }
}

} // namespace
} // namespace caisson::sim
