#include <caisson/policies/canary/difference_text.hpp>

#include <gtest/gtest.h>

#include <string>

namespace caisson::test {
namespace {

using detail::cut_text;
using detail::difference_of_texts;

TEST(difference_text, cuts_at_characters_and_escapes_what_is_none) {
  EXPECT_EQ(cut_text("price 12.50 €"), "price 12.50 €");
  EXPECT_EQ(cut_text(std::string{"a\n\xff\0b", 5}), R"(a\x0a\xff\x00b)");
  EXPECT_EQ(cut_text(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(cut_text(std::string(199, 'a') + "€"), std::string(199, 'a') + "…");
}

TEST(difference_text, says_where_two_first_differ) {
  EXPECT_EQ(difference_of_texts("12.50", "12.60"),
            "byte 3: baseline 12.50, canary 12.60");
  EXPECT_EQ(difference_of_texts("ab", "abc"),
            "byte 2: baseline ab, canary abc");
  EXPECT_EQ(difference_of_texts("", "c"), "byte 0: baseline , canary c");
  EXPECT_EQ(difference_of_texts("ab", "ab"), "the same text, ab");
}

TEST(difference_text, shows_only_what_is_around) {
  auto same = std::string(1'000'000, 's');
  EXPECT_EQ(difference_of_texts(same + "1", same + "2"),
            "byte 1000000: baseline …" + std::string(40, 's') + "1, canary …"
              + std::string(40, 's') + "2");
  // Not from the middle of a character on.
  std::string euros;
  for (int i = 0; i < 100; ++i)
    euros += "€";
  std::string shown;
  for (int i = 0; i < 14; ++i)
    shown += "€";
  EXPECT_EQ(difference_of_texts(euros + "1", euros + "2"),
            "byte 300: baseline …" + shown + "1, canary …" + shown + "2");
}

TEST(difference_text, is_bounded) {
  EXPECT_LT(
    difference_of_texts(std::string(5000, '\1'), std::string(9, '\2')).size(),
    1000u);
}

} // namespace
} // namespace caisson::test
