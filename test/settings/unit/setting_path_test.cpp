#include <caisson/settings/section.hpp>
#include <caisson/settings/setting_path.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace caisson {
namespace {

using namespace std::string_literals;

setting_path layer_zero() {
  return setting_path{} / "stack" / "db" / "layer" / 0;
}

TEST(setting_path, reads_as_dotted_keys_with_indexes_in_brackets) {
  EXPECT_EQ(to_text(layer_zero() / "kind"), "stack.db.layer[0].kind");
  EXPECT_EQ(to_text(setting_path{} / 1 / 2 / "a"), "[1][2].a");
  EXPECT_EQ(to_text(setting_path{}), "");
}

TEST(setting_path, is_taken_from_the_same_text) {
  EXPECT_EQ(setting_path{"stack.db.layer[0]"}, layer_zero());
  EXPECT_EQ(setting_path{"a[0][17].b"}, setting_path{} / "a" / 0 / 17 / "b");
  EXPECT_EQ(setting_path{"[3]"}, setting_path{} / 3);
  EXPECT_TRUE(setting_path{""}.empty());
}

TEST(setting_path, of_any_text_reads_as_that_text) {
  for (auto text :
       {"", ".", "a.", ".a", "a..b", "a[x]", "a[]", "a[01]", "a[1]b", "a[",
        "a]", "[0]", "a.[0]", "a[99999999999999999999999]", "a[-1]"})
    EXPECT_EQ(to_text(setting_path{text}), text);
}

TEST(setting_path, takes_a_key_as_it_is) {
  auto key = setting_path{"mix"} / "web.home";
  EXPECT_EQ(to_text(key), "mix.web.home");
  EXPECT_NE(key, setting_path{"mix.web.home"});
  EXPECT_NE(setting_path{"a"} / "0", setting_path{"a"} / 0);
}

TEST(setting_path, knows_what_it_lies_within) {
  auto kind = layer_zero() / "kind";
  EXPECT_TRUE(kind.starts_with(layer_zero()));
  EXPECT_TRUE(kind.starts_with(kind));
  EXPECT_TRUE(kind.starts_with({}));
  EXPECT_FALSE(layer_zero().starts_with(kind));
  EXPECT_FALSE(setting_path{"ab"}.starts_with("a"));
  EXPECT_FALSE(setting_path{"a[1]"}.starts_with("a[0]"));
}

TEST(setting_path, is_cut_and_joined) {
  EXPECT_EQ(layer_zero().without_first(2), "layer[0]");
  EXPECT_TRUE(layer_zero().without_first(9).empty());
  EXPECT_EQ(setting_path{"arm.x"}.joined_with(layer_zero()),
            "arm.x.stack.db.layer[0]");
}

TEST(setting_path, has_an_order) {
  std::set<setting_path> all{"b", "a[1]", "a[0]", "a", "a[1]"};
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(*all.begin(), "a");
}

// -- in a tree ----------------------------------------------------------------

setting setting_at(std::string place, decltype(setting::value) value) {
  return {std::move(value), std::move(place)};
}

// { a = [ { b = 1 }, "x" ], c = "y" }
settings nested() {
  settings inner;
  inner["b"] = setting_at("b", std::int64_t{1});
  settings out;
  out["a"] = setting_at(
    "a", std::vector<setting>{setting_at("a0", inner), setting_at("a1", "x"s)});
  out["c"] = setting_at("c", "y"s);
  return out;
}

TEST(place_of, is_that_of_the_value_or_of_what_is_around_it) {
  EXPECT_EQ(place_of(nested(), "a[0].b"), "b");
  EXPECT_EQ(place_of(nested(), "a[0].z"), "a0");
  EXPECT_EQ(place_of(nested(), "a[1]"), "a1");
  EXPECT_EQ(place_of(nested(), "a[2].b"), "a");
  EXPECT_EQ(place_of(nested(), "c.z"), "c");
  EXPECT_EQ(place_of(nested(), "z"), "");
}

TEST(as_written, leaves_out_what_a_short_form_has_not) {
  EXPECT_EQ(as_written(nested(), "a[0].b"), "a[0].b");
  EXPECT_EQ(as_written(nested(), "a[1].to"), "a[1]");
  EXPECT_EQ(as_written(nested(), "c[0].to"), "c");
  EXPECT_EQ(as_written(nested(), "a[0][0].b"), "a[0].b");
}

TEST(as_written, keeps_what_is_missing) {
  EXPECT_EQ(as_written(nested(), "a[0].z.y[1]"), "a[0].z.y[1]");
  EXPECT_EQ(as_written(nested(), "a[7].b"), "a[7].b");
  EXPECT_EQ(as_written(nested(), "z"), "z");
}

} // namespace
} // namespace caisson
