// Texts of users as labels and names.
#include <caisson/observe/detail/labels.hpp>
#include <caisson/observe/detail/metric_names.hpp>
#include <caisson/observe/metrics/detail/address.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <string>

namespace caisson::test {
namespace {

using namespace std::string_literals;

TEST(labels, keep_what_is_valid) {
  for (auto x : {"", "payments", "a\"b\\c\nd\te", "größe", "支付", "😀", "\x7e",
                 "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(detail::label_text(x), x);
}

TEST(labels, replace_what_is_not) {
  struct {
    std::string text;
    std::string label;
  } const table[] = {
    {"a\xff"
     "b",
     "a\ufffdb"},
    {"\0"s, "\ufffd"},
    {"\x1b[31m", "\ufffd[31m"},
    {"\x7f", "\ufffd"},
    // Cut off, overlong, a surrogate, too high.
    {"x\xe2\x82", "x\ufffd\ufffd"},
    {"\xc0\xaf", "\ufffd\ufffd"},
    {"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"},
    {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
    {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
    {"\x80", "\ufffd"},
  };
  for (auto& row : table)
    EXPECT_EQ(detail::label_text(row.text), row.label);
}

TEST(labels, are_cut_between_characters) {
  EXPECT_EQ(detail::label_text(std::string(300, 'a')), std::string(256, 'a'));
  auto text = std::string(255, 'a') + "ä";
  EXPECT_EQ(detail::label_text(text), std::string(255, 'a'));
}

RC_GTEST_PROP(labels_property, of_anything_are_fit, (const std::string& text)) {
  auto label = detail::label_text(text);
  RC_ASSERT(label.size() <= detail::max_label_length);
  RC_ASSERT(detail::label_text(label) == label);
  auto name = detail::metric_name(text);
  RC_ASSERT(!name.empty() && !(name[0] >= '0' && name[0] <= '9'));
  RC_ASSERT(detail::metric_name(name) == name);
}

TEST(labels, that_would_be_the_same_get_a_number) {
  detail::unique_labels x;
  EXPECT_EQ(x.add("a"), "a");
  EXPECT_EQ(x.add("\xff"), "\ufffd");
  EXPECT_EQ(x.add("\xfe"), "\ufffd#2");
  EXPECT_EQ(x.add("\xfd"), "\ufffd#3");
  EXPECT_EQ(x.add("\ufffd#4"), "\ufffd#4");
  EXPECT_EQ(x.add("\xfc"), "\ufffd#5");
}

TEST(metric_names, have_base_units) {
  struct {
    const char* kind;
    const char* gauge;
    const char* name;
    double scale;
  } const table[] = {
    {"semaphore", "in_use", "caisson_layer_in_use", 1},
    {"breaker", "failure_rate_permille", "caisson_layer_failure_rate_ratio",
     1e-3},
    {"canary", "canary_tail_us", "caisson_layer_canary_tail_seconds", 1e-6},
    {"canary", "share_ppm", "caisson_layer_share_ratio", 1e-6},
    {"breaker", "window_total", "caisson_layer_window_results", 1},
    {"semaphore", "in_use_x_ms", "caisson_layer_partition_in_use", 1},
    {"adaptive_limit", "waiting_a", "caisson_layer_partition_waiting", 1},
    {"semaphore", "guaranteed_a", "caisson_layer_partition_guaranteed", 1},
    {"mine", "in_use_a", "caisson_layer_in_use_a", 1},
    {"degradation", "level_extras", "caisson_layer_level", 1},
    {"mine", "level_extras", "caisson_layer_level_extras", 1},
    {"breaker", "state", "caisson_layer_state_value", 1},
    {"mine", "odd name!", "caisson_layer_odd_name_", 1},
    {"mine", "x_total", "caisson_layer_x_total_value", 1},
  };
  for (auto& row : table) {
    auto form = detail::form_of_gauge(row.kind, row.gauge);
    EXPECT_EQ(form.name, row.name);
    EXPECT_EQ(form.scale, row.scale);
  }
  auto level = detail::form_of_gauge("degradation", "level_extras");
  EXPECT_STREQ(level.label, "level");
  EXPECT_EQ(level.about, "extras");
  auto part = detail::form_of_gauge("semaphore", "in_use_x_ms");
  EXPECT_STREQ(part.label, "partition");
  EXPECT_EQ(part.about, "x_ms");
}

TEST(metric_names, have_the_help_of_their_kind) {
  struct {
    const char* kind;
    const char* gauge;
    const char* help;
  } const table[] = {
    {"breaker", "failure_rate_permille",
     "Share of failures in the window of a breaker."},
    {"breaker", "window_total", "Results in the window of a breaker."},
    {"semaphore", "waiting_a", "Calls of a partition that wait for a permit."},
    // A metric has one, whichever kinds have it.
    {"semaphore", "waiting",
     "Calls that wait: for a permit, a token, a batch or a retry."},
    {"chaos", "waiting",
     "Calls that wait: for a permit, a token, a batch or a retry."},
    {"mine", "limit_us",
     "The time limit of a deadline that learns it, at present."},
    {"breaker", "keys", "Keys that a layer knows at present."},
    {"mine", "odd", "A gauge of a policy; the page of its kind describes it."},
  };
  for (auto& row : table)
    EXPECT_STREQ(detail::form_of_gauge(row.kind, row.gauge).help, row.help);
}

TEST(metric_names, of_your_own_kinds_can_have_helps_and_labels) {
  add_policy_kind({.name = "named",
                   .gauges = {{"depth_us", "How deep it is."},
                              {"room_", "Its room.", "rooms", "room"},
                              {"waiting", "Not of semaphores."}}});
  auto depth = detail::form_of_gauge("named", "depth_us");
  EXPECT_EQ(depth.name, "caisson_layer_depth_seconds");
  EXPECT_STREQ(depth.help, "How deep it is.");
  EXPECT_EQ(depth.scale, 1e-6);
  auto room = detail::form_of_gauge("named", "room_ns");
  EXPECT_EQ(room.name, "caisson_layer_rooms");
  EXPECT_STREQ(room.help, "Its room.");
  EXPECT_STREQ(room.label, "room");
  EXPECT_EQ(room.about, "ns");
  EXPECT_EQ(room.scale, 1);
  EXPECT_STREQ(detail::form_of_gauge("named", "waiting").help,
               detail::form_of_gauge("semaphore", "waiting").help);
}

TEST(addresses, are_of_this_machine_unless_they_say_otherwise) {
  struct {
    const char* text;
    const char* address;
  } const table[] = {
    {"127.0.0.1:9464", "127.0.0.1:9464"}, {"9464", "127.0.0.1:9464"},
    {"localhost:0", "127.0.0.1:0"},       {"0.0.0.0:80", "0.0.0.0:80"},
    {"[::1]:9464", "[::1]:9464"},
  };
  for (auto& row : table)
    EXPECT_EQ(detail::listening_address(row.text), row.address);
}

TEST(addresses, that_say_something_else_are_refused) {
  for (auto x : {"", ":", ":9464", "host:9464", "127.0.0.1", "127.0.0.1:",
                 "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80s",
                 "127.0.0.1:80,0.0.0.0:81", "::1:80", "[::1]", "+80", " 80"})
    EXPECT_THROW(static_cast<void>(detail::listening_address(x)), config_error)
      << x;
}

} // namespace
} // namespace caisson::test
