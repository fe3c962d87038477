#include <caisson/policy/propagated_fields.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

// The text n times, with a number in place of each #, separated by commas.
std::string numbered(const std::string& text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0)
      out += ',';
    for (auto c : text)
      out += c == '#' ? std::to_string(i) : std::string{c};
  }
  return out;
}

TEST(tracestate, is_passed_on_without_blanks_and_empty_members) {
  for (const auto& [text, result] :
       std::initializer_list<std::pair<std::string, std::string>>{
         {"", ""},
         {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
          "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"},
         {"  a=1 \t, \t b=2", "a=1,b=2"},
         {",a=1,, ,b=2,", "a=1,b=2"},
         {"tenant-1@vendor=x", "tenant-1@vendor=x"},
         {"0a_-*/@=v", "0a_-*/@=v"},
         {"a=x y", "a=x y"},
         {"a=!\"~:;", "a=!\"~:;"},
         {std::string(256, 'k') + "=v", std::string(256, 'k') + "=v"},
         {"k=" + std::string(256, 'v'), "k=" + std::string(256, 'v')},
       })
    EXPECT_EQ(valid_tracestate(text), result) << text;
}

TEST(tracestate, that_is_not_valid_is_left_out_as_a_whole) {
  for (const std::string text :
       {"a", "a=", "=1", "A=1", "_a=1", "a =1", "a=1=2", "a=1,b", "a=1,a=2",
        "a=\x7f", "a=\xc3\xa4", "a=1\r\nx-admin: 1", "a=1\n", "\r=1", "a=x\ty"})
    EXPECT_EQ(valid_tracestate("ok=1," + text), "") << text;
  EXPECT_EQ(valid_tracestate(std::string("a=\0b", 4)), "");
  EXPECT_EQ(valid_tracestate(std::string(257, 'k') + "=v"), "");
  EXPECT_EQ(valid_tracestate("k=" + std::string(257, 'v')), "");
  EXPECT_EQ(valid_tracestate(numbered("k#=v", 32)), numbered("k#=v", 32));
  EXPECT_EQ(valid_tracestate(numbered("k#=v", 33)), "");
  EXPECT_EQ(valid_tracestate(std::string(1'000'000, 'a')), "");
  EXPECT_EQ(valid_tracestate(std::string(1'000'000, ',')), "");
}

TEST(tracestate, that_is_too_long_loses_long_members_then_the_last_ones) {
  // Members of 100 characters.
  auto short_one = [](char key) {
    return std::string{key} + "=" + std::string(98, 'v');
  };
  auto long_one = "long=" + std::string(200, 'v');
  auto five = short_one('a') + ',' + short_one('b') + ',' + short_one('c') + ','
              + short_one('d') + ',' + short_one('e');
  EXPECT_EQ(five.size(), 504u);
  EXPECT_EQ(valid_tracestate(five), five);
  EXPECT_EQ(valid_tracestate(five + ",f=12345"), five + ",f=12345");
  EXPECT_EQ(valid_tracestate(five + ",f=123456"), five);
  EXPECT_EQ(valid_tracestate(long_one + ',' + five), five);
  // Of several long ones the last, until it fits.
  auto other_long = "other=" + std::string(195, 'v');
  EXPECT_EQ(valid_tracestate(long_one + ',' + short_one('a') + ',' + other_long
                             + ",z=1"),
            long_one + ',' + short_one('a') + ',' + other_long + ",z=1");
  EXPECT_EQ(valid_tracestate(long_one + ',' + short_one('a') + ',' + other_long
                             + ",z=123"),
            long_one + ',' + short_one('a') + ",z=123");
}

TEST(baggage, is_passed_on_without_blanks) {
  for (const auto& [text, result] :
       std::initializer_list<std::pair<std::string, std::string>>{
         {"", ""},
         {"userId=alice", "userId=alice"},
         {"a=1 ; p = x;q , b = 2 ", "a=1;p=x;q,b=2"},
         {"a=%20%2C=x", "a=%20%2C=x"},
         {"a=", "a="},
         {"a=1,a=2", "a=1,a=2"},
       })
    EXPECT_EQ(valid_baggage(text), result) << text;
}

TEST(baggage, loses_members_that_are_none) {
  for (const std::string text :
       {"a", "=1", "a b=1", "a=\"1\"", "a=x\\y", "a=x y", "a=1;", "a=1;=2",
        "a=1;p q", "a=\xc3\xa4", "a=1\r\nx-admin: 1", "a\n=1", "a=\x7f", " ",
        "a[0]=1"})
    EXPECT_EQ(valid_baggage("x=1," + text + ",y=2"), "x=1,y=2") << text;
  EXPECT_EQ(valid_baggage(std::string("a=\0b,y=2", 8)), "y=2");
}

TEST(baggage, is_bounded) {
  EXPECT_EQ(valid_baggage(numbered("k#=v", 64)), numbered("k#=v", 64));
  EXPECT_EQ(valid_baggage(numbered("k#=v", 65)), numbered("k#=v", 64));
  auto longest = "k=" + std::string(max_baggage_length - 2, 'v');
  EXPECT_EQ(valid_baggage(longest), longest);
  EXPECT_EQ(valid_baggage(longest + 'v'), "");
  EXPECT_EQ(valid_baggage("a=1," + longest + ",b=2"), "a=1,b=2");
  EXPECT_EQ(valid_baggage("a=" + std::string(1'000'000, ' ') + "1,b=2"), "b=2");
  EXPECT_EQ(valid_baggage(std::string(1'000'000, ',')), "");
}

TEST(propagated_fields, have_only_what_is_valid) {
  propagated_fields x;
  EXPECT_TRUE(x.empty());
  EXPECT_EQ(x.tracestate() + x.baggage(), "");
  x.set_tracestate("A=1");
  x.set_baggage("\n");
  EXPECT_TRUE(x.empty());
  x.set_tracestate("a=1 ");
  x.set_baggage("user=7 , x");
  EXPECT_EQ(x.tracestate(), "a=1");
  EXPECT_EQ(x.baggage(), "user=7");
  auto copy = x;
  x.set_tracestate("");
  EXPECT_EQ(x.tracestate(), "");
  EXPECT_EQ(x.baggage(), "user=7");
  EXPECT_EQ(copy.tracestate(), "a=1");
  x.set_baggage("");
  EXPECT_TRUE(x.empty());
  EXPECT_EQ(x, propagated_fields{});
  EXPECT_NE(x, copy);
}

TEST(propagated_fields, cross_the_network_as_a_list) {
  propagated_fields x;
  EXPECT_TRUE(x.to_list().empty());
  EXPECT_TRUE(propagated_fields::from_list({}).empty());
  x.set_baggage("user=7");
  EXPECT_EQ(propagated_fields::from_list(x.to_list()), x);
  x.set_tracestate("a=1");
  EXPECT_EQ(propagated_fields::from_list(x.to_list()), x);
  // Another node may say anything.
  EXPECT_TRUE(propagated_fields::from_list({"a=1"}).empty());
  EXPECT_TRUE(propagated_fields::from_list({"a=1", "b=2", "c=3"}).empty());
  auto other = propagated_fields::from_list({"a=1\r\n,", "b=2\r\nx: y,c=3"});
  EXPECT_EQ(other.tracestate(), "");
  EXPECT_EQ(other.baggage(), "c=3");
}

} // namespace
} // namespace caisson
