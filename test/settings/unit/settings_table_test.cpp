#include <caisson/settings/settings_table.hpp>

#include <support/sample_config.hpp>

#include <gtest/gtest.h>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

TEST(field_lister, gives_one_row_per_field_in_order) {
  sample_config c;
  c.words = {"a", "b"};
  std::string out;
  for (const auto& r : rows_of(c))
    out += r.key + "/" + r.type + "/" + r.allowed + "/" + r.value + "\n";
  EXPECT_EQ(out, "name/string/any text/\"\"\n"
                 "mode/choice/enforce, observe, off/enforce\n"
                 "loud/boolean/true, false/false\n"
                 "least/integer/1 to 100/1\n"
                 "most/integer (bytes)/1 to 1000000/5\n"
                 "ratio/number/0 to 1/0.5\n"
                 "wait/duration/0s to unlimited/1s\n"
                 "pause/schedule/a duration, a table or a list of durations "
                 "or tables/constant 10ms\n"
                 "words/list/a list of strings/[\"a\", \"b\"]\n");
}

TEST(markdown_table, escapes_what_would_break_a_row) {
  EXPECT_EQ(markdown_table({{"k", "choice", "a | b", "<x>", "one | two\n<y>"},
                            {"l", "t", "", "", ""}}),
            "| setting | type | allowed | default | meaning |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| `k` | choice | a \\| b | `<x>` | one \\| two \\<y> |\n"
            "| `l` | t |  |  |  |\n");
}

TEST(number_text, is_the_shortest_that_reads_back) {
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1.0), "1");
  EXPECT_EQ(to_text(1e6), "1000000");
  EXPECT_EQ(to_text(1.0 / 3), "0.3333333333333333");
}

} // namespace
} // namespace caisson::test
