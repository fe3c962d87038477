// Reads a collector's answers, without a collector.
#include <caisson/adapters/http/messages.hpp>
#include <caisson/observe/otlp/detail/answers.hpp>
#include <caisson/observe/otlp/detail/sender.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

http_response otlp_answer(std::int32_t status, std::string body) {
  return {status, {}, std::move(body)};
}

TEST(otlp_answers_test, hide_a_token_before_they_are_cut) {
  http_headers secret{{"authorization", "Bearer s3cr3t-ABCDEFGHIJKLMNOP"}};
  // It would be cut in its middle.
  auto long_text = std::string(245, 'x') + " s3cr3t-ABCDEFGHIJKLMNOP";
  auto text = detail::failure_text(
    otlp_answer(401, "{\"message\":\"" + long_text + "\"}"), secret);
  EXPECT_EQ(text.find("s3cr3t"), std::string::npos) << text;
  auto partial = detail::partial_success_of(
    otlp_answer(200, "{\"partialSuccess\":{\"errorMessage\":\"" + long_text
                       + "\"}}"),
    secret);
  EXPECT_EQ(partial.text.find("s3cr3t"), std::string::npos) << partial.text;
  EXPECT_EQ(partial.text.substr(0, 5), "xxxxx");
}

TEST(otlp_answers_test, reject_no_more_than_a_request_has) {
  init_http_types();
  detail::otlp_tally tally{otlp_config{}};
  auto lie = caf::make_message(otlp_answer(
    200, R"({"partialSuccess":{"rejectedSpans":"18446744073709551615"}})"));
  tally.note(lie);
  tally.note(lie);
  EXPECT_EQ(tally.counts().spans_rejected, 2u * 512);
  tally.note(caf::make_message(
    otlp_answer(200, R"({"partialSuccess":{"rejectedSpans":"3"}})")));
  EXPECT_EQ(tally.counts().spans_rejected, 2u * 512 + 3);
}

} // namespace
} // namespace caisson::test
