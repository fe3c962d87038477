// The settings of the worker for gRPC, and requests as calls.
#include <adapters/grpc/servers.hpp>
#include <support/problem_texts.hpp>

#include <caisson/adapters/grpc/channel.hpp>

#include <google/protobuf/wrappers.pb.h>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

std::string problems_of(grpc_client_config c) {
  try {
    (void)grpc_worker(c);
  } catch (const config_error& e) {
    return e.what();
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(grpc_client_config, takes_hosts_with_a_port_and_sockets) {
  for (const auto* x :
       {"localhost:1", "prices.shop.svc:50051", "10.0.0.1:65535", "[::1]:443",
        "[fe80::1%eth0]:1", "a_b:1", "unix:/run/prices.sock"})
    EXPECT_EQ(problems_of({.target = x}), "") << x;
  for (const auto* x : {"",
                        "localhost",
                        ":50051",
                        "localhost:",
                        "localhost:0",
                        "localhost:65536",
                        "localhost:http",
                        "::1:443",
                        "[]:1",
                        "[a]:1",
                        "http://localhost:1",
                        "dns:///localhost:1",
                        "a b:1",
                        "a:1/x",
                        "unix:",
                        "unix:x",
                        "unix:/",
                        "unix://x",
                        "unix:/a b",
                        "a:1\n"})
    EXPECT_TRUE(mentions(problems_of({.target = x}), "target")) << x;
}

TEST(grpc_client_config, reports_what_is_wrong) {
  EXPECT_TRUE(mentions(problems_of({.max_in_progress = 0}), "max_in_progress"));
  EXPECT_TRUE(
    mentions(problems_of({.connect_timeout = 1ms}), "connect_timeout"));
  EXPECT_TRUE(mentions(problems_of({.keepalive = 1s}), "at least 10s"));
  EXPECT_EQ(problems_of({.keepalive = 10s}), "");
  EXPECT_TRUE(mentions(problems_of({.max_request = -1}), "max_request"));
  EXPECT_TRUE(
    mentions(problems_of({.priority_metadata = "Upper"}), "priority_metadata"));
  EXPECT_TRUE(
    mentions(problems_of({.key_metadata = "grpc-key"}), "key_metadata"));
  EXPECT_TRUE(
    mentions(problems_of({.key_metadata = "traceparent"}), "another meaning"));
  EXPECT_TRUE(
    mentions(problems_of({.key_metadata = "baggage"}), "another meaning"));
  EXPECT_TRUE(mentions(
    problems_of({.priority_metadata = "x", .key_metadata = "x"}), "also"));
  EXPECT_TRUE(mentions(problems_of({.ca_file = "/no/such"}), "`tls`"));
  EXPECT_TRUE(
    mentions(problems_of({.tls = true, .ca_file = "/no/such"}), "/no/such"));
  EXPECT_TRUE(
    mentions(problems_of({.tls = true, .client_key = "/dev/null"}), "missing"));
  EXPECT_TRUE(
    mentions(problems_of({.target = "unix:/x", .tls = true}), "leave out one"));
  EXPECT_THROW((void)grpc_channel({.target = "x"}), config_error);
}

TEST(grpc_client_config, leaves_retries_to_one_side) {
  std::string with_retries = R"({"methodConfig": [{"name": [{}],
    "retryPolicy": {"maxAttempts": 2, "initialBackoff": "1s",
    "maxBackoff": "1s", "backoffMultiplier": 1,
    "retryableStatusCodes": ["UNAVAILABLE"]}}]})";
  EXPECT_TRUE(mentions(problems_of({.service_config = with_retries}),
                       "requires `channel_retries`"));
  EXPECT_EQ(
    problems_of({.channel_retries = true, .service_config = with_retries}), "");
  EXPECT_EQ(problems_of({.service_config = R"({"methodConfig": []})"}), "");
  EXPECT_TRUE(
    mentions(problems_of({.service_config = "{"}), "not a service config"));
}

TEST(grpc_request, becomes_a_call_of_a_message) {
  init_grpc_types();
  google::protobuf::StringValue x;
  x.set_value("tea");
  auto c = grpc_call("/a.B/C", x, {{"k", "v"}}).within(2s).idempotent();
  auto* request = portable::get_if<grpc_request>(c.payload);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "/a.B/C");
  EXPECT_EQ(request->bytes, x.SerializeAsString());
  EXPECT_EQ(*metadata_of(request->metadata, "k"), "v");
  EXPECT_EQ(metadata_of(request->metadata, "K"), nullptr);
  EXPECT_EQ(c.options.idempotent, idempotence::yes);
  EXPECT_EQ(problem_with(*request), "");
}

struct no_message {
  bool SerializeToString(std::string*) const { return false; }
};

TEST(grpc_request, is_none_of_a_message_without_a_required_field) {
  EXPECT_THROW((void)grpc_call("/a.B/C", no_message{}), std::invalid_argument);
}

TEST(grpc_response, becomes_a_message_if_it_has_one) {
  using google::protobuf::StringValue;
  StringValue x;
  x.set_value("tea");
  grpc_response good{.bytes = x.SerializeAsString()};
  ASSERT_TRUE(parse<StringValue>(good));
  EXPECT_EQ(parse<StringValue>(good)->value(), "tea");
  EXPECT_FALSE(parse<StringValue>({.code = 14, .bytes = good.bytes}));
  EXPECT_FALSE(parse<StringValue>({.bytes = "\xff\xff"}));
  // A message without fields has no bytes.
  EXPECT_TRUE(parse<StringValue>({}));
}

TEST(grpc_response, has_a_text) {
  EXPECT_EQ(to_text(grpc_response{}), "OK");
  EXPECT_EQ(to_text(grpc_response{.code = 14, .message = "no"}),
            "UNAVAILABLE: no");
  EXPECT_EQ(to_text(grpc_response{.code = 17}), "17");
  EXPECT_EQ(to_text(grpc_response{.code = -1}), "-1");
}

TEST(grpc_response, means_what_its_code_and_pushback_say) {
  init_grpc_types();
  auto adapter = grpc_adapter();
  auto meaning = [&](std::int32_t code, grpc_metadata trailers = {}) {
    return adapter(caf::make_message(grpc_response{
                     .code = code, .trailers = std::move(trailers)}))
      .value();
  };
  EXPECT_EQ(meaning(0).kind, answer_class::ok);
  EXPECT_EQ(meaning(14).kind, answer_class::retry);
  EXPECT_TRUE(meaning(14).may_have_executed);
  EXPECT_EQ(meaning(8).kind, answer_class::shed);
  EXPECT_EQ(meaning(5).kind, answer_class::fail);
  EXPECT_EQ(meaning(99).max_attempts, 2u);
  auto after = [&](const std::string& x) {
    return meaning(14, {{"grpc-retry-pushback-ms", x}}).retry_after;
  };
  EXPECT_EQ(after("250"), 250ms);
  EXPECT_EQ(after("-1"), do_not_retry);
  EXPECT_EQ(after("soon"), do_not_retry);
  EXPECT_FALSE(adapter(caf::make_message(std::int32_t{7})));
}

} // namespace
} // namespace caisson::test
