#include <caisson/adapters/http/front.hpp>
#include <caisson/adapters/http/messages.hpp>

#include <caisson/caf/error.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

http_request with_header(std::string name, std::string value) {
  http_request x;
  x.headers.emplace(std::move(name), std::move(value));
  return x;
}

TEST(http_request, is_idempotent_by_its_method) {
  for (auto x : {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
    EXPECT_TRUE(is_idempotent(x)) << x;
  for (auto x : {"POST", "PATCH", "CONNECT", "get", ""})
    EXPECT_FALSE(is_idempotent(x)) << x;
}

TEST(http_request, becomes_a_call) {
  auto get = as_call({.target = "/a"});
  EXPECT_EQ(get.options.idempotent, idempotence::yes);
  EXPECT_EQ(get.options.idempotency_key, "");
  auto* x = portable::get_if<http_request>(get.payload);
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->target, "/a");
  auto post = with_header("idempotency-KEY", "k7");
  post.method = "POST";
  EXPECT_EQ(as_call(post).options.idempotent, idempotence::no);
  EXPECT_EQ(as_call(post).options.idempotency_key, "k7");
  auto longest = std::string(max_key_length, 'k');
  EXPECT_EQ(
    as_call(with_header("idempotency-key", longest)).options.idempotency_key,
    longest);
  EXPECT_EQ(as_call(with_header("idempotency-key", longest + 'k'))
              .options.idempotency_key,
            "");
}

TEST(http_request, is_in_the_trace_that_it_says) {
  std::string trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  EXPECT_EQ(as_call(with_header("TraceParent", trace)).options.traceparent,
            trace);
  // Two of them arrive as one.
  for (auto x : {std::string{"x"}, trace + ", " + trace, std::string{}})
    EXPECT_EQ(as_call(with_header("traceparent", x)).options.traceparent, "");
}

TEST(http_request, takes_along_the_state_of_its_trace_and_baggage) {
  http_request x{
    .headers = {{"traceparent",
                 "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"},
                {"TraceState", "rojo=1 , congo=2"},
                {"Baggage", "user=7 , x, tenant=blue"}}};
  auto fields = as_call(x).options.propagated;
  EXPECT_EQ(fields.tracestate(), "rojo=1,congo=2");
  EXPECT_EQ(fields.baggage(), "user=7,tenant=blue");
  // The state is that of a trace.
  x.headers["traceparent"] = "x";
  EXPECT_EQ(as_call(x).options.propagated.tracestate(), "");
  EXPECT_EQ(as_call(x).options.propagated.baggage(), "user=7,tenant=blue");
  EXPECT_TRUE(as_call({}).options.propagated.empty());
}

TEST(http_request, with_a_line_of_somebody_elses_is_a_problem) {
  EXPECT_EQ(problem_with({}), "");
  EXPECT_EQ(problem_with(with_header("x-a", "1, 2\tä")), "");
  for (auto x : {"", "GET ", "GE\rT", "a:b"})
    EXPECT_NE(problem_with({.method = x}), "") << x;
  for (auto x : {"", "a", "http://a/", "/a b", "/a\r\nx: y", "/\xc3\xa4"})
    EXPECT_NE(problem_with({.target = x}), "") << x;
  for (auto x : {"", "a b", "a:", "a\r\nb", "ä"})
    EXPECT_NE(problem_with(with_header(x, "")), "") << x;
  for (auto x : {"\r", "a\nb", "\x7f", "\x01"})
    EXPECT_NE(problem_with(with_header("a", x)), "") << x;
  EXPECT_NE(problem_with(with_header("a", std::string{"\0", 1})), "");
}

TEST(http_request, has_headers_that_are_not_passed_on) {
  for (auto x : {"Connection", "content-length", "Transfer-Encoding", "TE"})
    EXPECT_TRUE(is_of_connection(x)) << x;
  for (auto x : {"content-type", "host", "x-a", ""})
    EXPECT_FALSE(is_of_connection(x)) << x;
  http_headers all{{"Retry-After", "1"}};
  EXPECT_EQ(header_of(all, "retry-after"), "1");
  EXPECT_EQ(header_of(all, "retry"), "");
}

TEST(http_response, means_what_its_status_says) {
  auto adapter = http_adapter();
  auto meaning = [&](std::int32_t status, http_headers headers) {
    return adapter(
      caf::make_message(http_response{status, std::move(headers), {}}));
  };
  EXPECT_EQ(meaning(200, {})->kind, answer_class::ok);
  EXPECT_EQ(meaning(404, {})->kind, answer_class::fail);
  auto busy = meaning(503, {{"retry-after", "7"}});
  EXPECT_EQ(busy->kind, answer_class::retry_after);
  EXPECT_EQ(busy->retry_after, 7s);
  auto dated = meaning(429, {{"date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                             {"retry-after", "Sun, 06 Nov 1994 08:49:40 GMT"}});
  EXPECT_EQ(dated->kind, answer_class::shed);
  EXPECT_EQ(dated->retry_after, 3s);
  EXPECT_FALSE(adapter(caf::make_message(1)));
}

// -- errors as responses ------------------------------------------------------

http_response response_of(errc code, duration after = duration::zero(),
                          duration otherwise = duration::zero()) {
  return http_error(
    make_error(code, rejection{"payments", after, true, "text"}), otherwise);
}

TEST(http_error, has_a_status_for_each_error) {
  struct row {
    errc code;
    int status;
  };
  for (auto& x : {row{errc::breaker_open, 503}, row{errc::queue_full, 503},
                  row{errc::wait_timeout, 503}, row{errc::rate_limited, 429},
                  row{errc::deadline_exceeded, 504}, row{errc::cancelled, 503},
                  row{errc::worker_down, 503}, row{errc::budget_exhausted, 503},
                  row{errc::shed, 503}, row{errc::batch_failed, 500},
                  row{errc::no_such_permit, 500},
                  row{errc::invalid_config, 500}, row{errc::draining, 503},
                  row{errc::callback_failed, 500}, row{errc::call_loop, 500},
                  row{errc::injected, 500}, row{errc::feature_off, 503},
                  row{errc::internal_error, 500}, row{errc::throttled, 503}}) {
    EXPECT_EQ(response_of(x.code).status, x.status) << name_of(x.code);
    EXPECT_EQ(response_of(x.code).body, std::string{name_of(x.code)} + '\n');
  }
  using enum transport_errc;
  EXPECT_EQ(http_error(make_error(not_connected)).status, 503);
  EXPECT_EQ(http_error(make_error(busy)).status, 503);
  EXPECT_EQ(http_error(make_error(stopped)).status, 503);
  EXPECT_EQ(http_error(make_error(lost)).status, 502);
  EXPECT_EQ(http_error(make_error(garbled)).status, 502);
  EXPECT_EQ(http_error(make_error(too_large)).status, 502);
  EXPECT_EQ(http_error(make_error(timed_out)).status, 504);
  EXPECT_EQ(http_error(make_error(bad_request)).status, 500);
  EXPECT_EQ(http_error(caf::sec::request_receiver_down).status, 503);
  EXPECT_EQ(http_error(caf::sec::runtime_error).status, 500);
}

TEST(http_error, reports_when_to_come_back) {
  auto after = [](const http_response& x) {
    return std::string{header_of(x.headers, "retry-after")};
  };
  EXPECT_EQ(after(response_of(errc::rate_limited, 3s)), "3");
  EXPECT_EQ(after(response_of(errc::rate_limited, 3s + 1ns)), "4");
  EXPECT_EQ(after(response_of(errc::breaker_open, 1ms)), "1");
  EXPECT_EQ(after(response_of(errc::breaker_open)), "");
  EXPECT_EQ(after(response_of(errc::breaker_open, 0s, 2s)), "2");
  EXPECT_EQ(after(response_of(errc::breaker_open, 5s, 2s)), "5");
  EXPECT_EQ(after(response_of(errc::breaker_open, unlimited, 2s)), "");
  EXPECT_EQ(after(response_of(errc::queue_full, do_not_retry, 2s)), "");
  EXPECT_EQ(after(response_of(errc::shed, 300h)), "86400");
  EXPECT_EQ(after(response_of(errc::deadline_exceeded, 5s, 2s)), "");
  EXPECT_EQ(after(response_of(errc::callback_failed, 5s, 2s)), "");
}

TEST(http_error, hides_what_is_behind) {
  auto x = response_of(errc::breaker_open, 1s);
  EXPECT_EQ(x.body, "breaker_open\n");
  for (auto& [name, value] : x.headers)
    EXPECT_EQ(value.find("payments"), std::string::npos) << name;
  EXPECT_EQ(http_error(make_error(transport_errc::lost, "10.0.0.7")).body,
            "lost\n");
  EXPECT_EQ(http_error(caf::sec::runtime_error).body, "internal error\n");
}

} // namespace
} // namespace caisson::test
