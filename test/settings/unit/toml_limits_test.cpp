// TOML that is nested too deeply, or that looks as if it did.
#include <support/toml_texts.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace caisson::test {
namespace {

// What is wrong with a text that is called `f`, of which then nothing is read.
std::string refusal(std::string_view text) {
  problems found;
  auto out = parse_toml(text, "f", found);
  EXPECT_TRUE(found.empty() || out.empty());
  return to_text(found);
}

TEST(toml_limits, depth_is_refused_in_every_notation) {
  constexpr std::size_t n = 20'000;
  const std::pair<std::string, std::string> cases[] = {
    {"a = 1\nx" + repeated(".a", n) + " = 1", "f:2:1: x.a.a."},
    {"[x" + repeated(" . \"a.b\"", n) + "]", "f:1:2: x . \"a.b\" . "},
    {"[[x" + repeated(".'a'", n) + "]]", "f:1:3: x.'a'.'a'"},
    {"x = " + repeated("[", n) + repeated("]", n), "f:1:"},
    {"x = " + repeated("{a=", n) + "1" + repeated("}", n), "f:1:"},
    {"x = " + repeated("[{a.b=", n) + "1" + repeated("}]", n), "f:1:"},
  };
  for (const auto& [text, begin] : cases) {
    auto complaint = refusal(text);
    EXPECT_TRUE(complaint.starts_with(begin)) << complaint;
    EXPECT_TRUE(complaint.ends_with(too_deep)) << complaint;
  }
}

TEST(toml_limits, depth_is_that_of_headers_keys_and_brackets_together) {
  auto with = [](std::size_t header, std::size_t key, std::size_t lists) {
    return refusal("[h" + repeated(".h", header - 1) + "]\nk"
                   + repeated(".k", key - 1) + " = " + repeated("[", lists)
                   + "1.5" + repeated("]", lists));
  };
  EXPECT_EQ(with(43, 20, 1), "");
  EXPECT_EQ(with(44, 20, 0), "");
  EXPECT_EQ(with(1, 1, 62), "");
  EXPECT_TRUE(with(44, 20, 1).ends_with(too_deep));
  EXPECT_TRUE(with(45, 20, 0).ends_with(too_deep));
  EXPECT_TRUE(with(1, 1, 63).ends_with(too_deep));
}

TEST(toml_limits, depth_ends_with_its_brackets_and_its_line) {
  auto lists = repeated("[", 60) + "{ a.b = 1, c.d = 2 }" + repeated("]", 60);
  EXPECT_EQ(refusal("a = " + lists + "\nb = [\n" + lists.substr(1)
                    + "\nc.d.e = [ 1, 2,\n 3 ] # ]\n[x.y.z]\n"),
            "");
}

TEST(toml_limits, dots_and_brackets_in_texts_and_comments_do_not_count) {
  auto dots = repeated(".", 200) + repeated("[{", 100);
  EXPECT_EQ(refusal("# " + dots + "\r\n"                           //
                    + "a = \"" + dots + "\\\"" + dots + "\"\n"     //
                    + "b = '" + dots + "\\' # " + dots + "\n"      //
                    + "c = \"\"\"\n" + dots + "\n\\\"\"\"" + dots  //
                    + "\"\"\"\"\n"                                 //
                    + "d = '''" + dots + "\n''" + dots + "'''''\n" //
                    + "e = [ # " + dots + "\n '', \"\" ]\n"        //
                    + "\"" + dots + "\" = ''\n"),
            "");
}

TEST(toml_limits, texts_and_comments_end_where_they_do_for_the_parser) {
  auto key = "x" + repeated(".a", 20'000) + " = 1\n";
  const std::string before[] = {
    "# comment\n",
    "\xef\xbb\xbf",
    "a = ''\n",
    "a = \"\"\n",
    "a = \"\\\\\"\n",
    "a = '\\'\n",
    "a = \"\"\"x\"\"\"\n",
    "a = \"\"\"x\"\"\"\"\"\n",
    "a = \"\"\"\"\"\"\n",
    "a = '''\\'''\n",
    "a = [ '#', 1 ]\n",
    "a = { b = '}' }\n",
    "[t] # [\n",
    "[[t]]\n",
    "\"#\" = 1\n",
  };
  for (const auto& text : before)
    EXPECT_TRUE(refusal(text + key).ends_with(too_deep)) << text;
}

TEST(toml_limits, a_long_key_is_refused_and_a_long_text_is_not) {
  EXPECT_EQ(refusal("a = '" + std::string(1'000'000, 'b') + "'"), "");
  EXPECT_EQ(refusal(std::string(longest_key, 'a') + "=1"), "");
  EXPECT_EQ(refusal("t = { " + std::string(longest_key + 1, 'a') + "=1 }"),
            "f:1:7: " + std::string(80, 'a')
              + "…: is a key of 501 bytes, allowed: at most 500");
}

TEST(toml_limits, columns_are_counted_in_characters) {
  EXPECT_TRUE(refusal("a = { 'é' = 'ß', x" + repeated(".a", 100) + " = 1 }")
                .starts_with("f:1:18: x.a"));
}

TEST(toml_limits, a_syntax_error_is_reported_as_one) {
  for (auto text : {"a = \"x\n", "a = '''x", "a = [ 1", "a = }\n]\n", "]", "[a",
                    "= 1", "a = { [ b", "a.b."})
    EXPECT_NE(refusal(text).find("not TOML: "), std::string::npos) << text;
}

} // namespace
} // namespace caisson::test
