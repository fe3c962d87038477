#include <caisson/policy/trace_context.hpp>

#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

constexpr trace_context w3c_example{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736,
                                    0x00f067aa0ba902b7, true};

TEST(traceparent, is_read_and_written) {
  const std::string text
    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(trace_context::parse(text), w3c_example);
  EXPECT_EQ(w3c_example.traceparent(), text);
  EXPECT_EQ(w3c_example.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(span_text(w3c_example.span), "00f067aa0ba902b7");
}

TEST(traceparent, has_one_flag_that_counts) {
  struct {
    const char* flags;
    bool sampled;
  } const table[] = {
    {"00", false}, {"01", true}, {"02", false}, {"03", true}, {"ff", true}};
  for (const auto& row : table) {
    auto x = trace_context::parse(
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
      + std::string{row.flags});
    ASSERT_TRUE(x) << row.flags;
    EXPECT_EQ(x->sampled, row.sampled) << row.flags;
    EXPECT_TRUE(x->traceparent().ends_with(row.sampled ? "-01" : "-00"));
  }
}

TEST(traceparent, of_a_later_version_may_be_longer) {
  const std::string rest
    = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(trace_context::parse("01" + rest), w3c_example);
  EXPECT_EQ(trace_context::parse("cc" + rest + "-what.is.new"), w3c_example);
  EXPECT_EQ(trace_context::parse("cc" + rest + std::string(1'000'000, '-')),
            w3c_example);
  EXPECT_FALSE(trace_context::parse("cc" + rest + ".what.is.new"));
  EXPECT_FALSE(trace_context::parse("00" + rest + "-what.is.new"));
  EXPECT_FALSE(trace_context::parse("ff" + rest));
}

TEST(traceparent, that_is_not_valid_is_no_context) {
  for (const char* text : {
         "",
         "00",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
         "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
         "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067aa0ba902b7-01",
         "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
         "00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
         "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
         "00 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
         "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7 01",
       })
    EXPECT_FALSE(trace_context::parse(text)) << text;
  // Half of a trace's id may be zero.
  EXPECT_TRUE(trace_context::parse(
    "00-0000000000000000a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  EXPECT_TRUE(trace_context::parse(
    "00-4bf92f3577b34da60000000000000000-00f067aa0ba902b7-01"));
}

} // namespace
} // namespace caisson
