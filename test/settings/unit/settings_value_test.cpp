// Config structs within others: as tables, in lists, by name, and optional.
#include <caisson/settings.hpp>
#include <caisson/settings/toml.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using texts = std::vector<std::string>;

struct document {
  std::string name;
  std::int64_t least = 1;
  std::int64_t most = 5;
};

void describe(field_visitor& v, document& c) {
  v.on({"least", "books"}, c.least, {0, 9});
  v.on({.key = "most", .help = "books", .required = true}, c.most, {0, 9});
}

void check(const document& c, const setting_path& path, problems& out) {
  if (c.least > c.most)
    out.push_back({problem_kind::relation, path / "least", "too many"});
}

struct library {
  document best;
  std::vector<document> list;
  std::vector<document> named;
  std::optional<duration> closes;
};

void describe(field_visitor& v, library& c) {
  v.on({"best", "of all"}, c.best);
  v.on({"list", "some"}, c.list);
  tables_by_name named{c.named};
  v.on({"named", "others"}, named);
  v.on({"closes", "when"}, c.closes, range<duration>{1s, 1h});
}

problems read_library(const std::string& text, library& into) {
  problems found;
  auto root = parse_toml(text, "f", found);
  EXPECT_EQ(to_text(found), "");
  return read_settings(root, "l", into, "f:0:0");
}

texts wrong(const std::string& text) {
  library c;
  return kinds_and_keys(read_library(text, c));
}

TEST(nested_settings, are_read_as_tables_lists_and_by_name) {
  library c;
  c.list.resize(3);
  EXPECT_EQ(to_text(read_library("closes = '5s'\n[best]\nmost = 2\n"
                                 "[[list]]\nmost = 3\n[[list]]\nmost = 4\n"
                                 "[named.b]\nmost = 7\n[named.a]\nmost = 8\n",
                                 c)),
            "");
  EXPECT_EQ(c.best.most, 2);
  ASSERT_EQ(c.list.size(), 2u);
  EXPECT_EQ(c.list[1].most, 4);
  ASSERT_EQ(c.named.size(), 2u);
  // In the order of the file.
  EXPECT_EQ(c.named[0].name, "b");
  EXPECT_EQ(c.named[0].most, 7);
  EXPECT_EQ(c.named[1].name, "a");
  EXPECT_EQ(c.closes, 5s);
}

TEST(nested_settings, that_are_absent_stay_as_they_are) {
  library c;
  c.list.resize(3);
  EXPECT_EQ(to_text(read_library("", c)), "");
  EXPECT_EQ(c.list.size(), 3u);
  EXPECT_EQ(c.closes, std::nullopt);
}

TEST(nested_settings, keep_their_rules_and_their_relations) {
  EXPECT_EQ(wrong("[best]\nleast = 9\n[[list]]\nmost = 0\nmots = 1\n"
                  "[[list]]\n[named.x]\nmost = 99\n"),
            (texts{"missing l.best.most", "unknown l.list[0].mots",
                   "missing l.list[1].most", "range l.named.x.most",
                   "relation l.best.least", "relation l.list[0].least"}));
}

TEST(nested_settings, are_placed_where_they_stand) {
  library c;
  EXPECT_EQ(to_text(read_library("[[list]]\nmost = 0\n[[list]]\n", c)),
            "f:3:1: l.list[1].most: is missing, allowed: 0 to 9\n"
            "f:1:1: l.list[0].least: too many");
  EXPECT_TRUE(c.list.empty());
}

TEST(nested_settings, of_another_shape_are_refused) {
  EXPECT_EQ(
    wrong("best = 1\nlist = 1\nnamed = 1\ncloses = 1\n"),
    (texts{"type l.best", "type l.list", "type l.named", "type l.closes"}));
  EXPECT_EQ(wrong("list = [1]\nnamed = { x = 1, 'a b' = { most = 1 } }\n"),
            (texts{"type l.list[0]", "type l.named.x", "range l.named.a b"}));
  library c;
  EXPECT_EQ(to_text(read_library("list = 1", c)),
            "f:1:8: l.list: 1 is not a list, allowed: a list of tables; in "
            "TOML each may begin with [[l.list]]");
}

TEST(nested_settings, are_checked_when_set_in_code) {
  library c;
  c.best.least = 6;
  c.list.resize(2);
  c.list[1].most = 10;
  c.named.push_back({"x", 7, 6});
  c.closes = 0s;
  EXPECT_EQ(kinds_and_keys(problems_of(c, "l")),
            (texts{"relation l.best.least", "range l.list[1].most",
                   "relation l.named.x.least", "range l.closes"}));
}

TEST(nested_settings, are_listed_with_their_values) {
  library c;
  c.list.resize(1);
  c.named.push_back({"x", 1, 2});
  EXPECT_EQ(fields_of(c), R"(
best | table | { least = 1, most = 5 }
  a table
list | list | [{ least = 1, most = 5 }]
  a list, each of which is a table
named | table | { x = { least = 1, most = 2 } }
  a table of tables
closes | duration | -
  1s to 1h
)");
  c.closes = 5s;
  EXPECT_EQ(rows_of(c).back().value, "5s");
}

} // namespace
} // namespace caisson::test
