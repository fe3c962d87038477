// Classes that adapters give answers, in gates and in local gates: all layers
// act on it, and callers still get the answer.
#include "support/local_proxy.hpp"
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

/// What the workers here answer: a status and perhaps `Retry-After`, such as
/// "503 2".
http_result read_answer(const std::string& text) {
  if (text == "garbled")
    throw std::runtime_error{"no status"};
  auto blank = text.find(' ');
  return {std::stoi(text),
          blank == std::string::npos ? "" : text.substr(blank + 1)};
}

/// With an even parameter on a gate, with an odd one on a local gate.
class answers_test : public world_test {
protected:
  caf::actor host(worker behind, stack s) {
    return own(
      spawn_host(GetParam() % 2 == 0 ? host_kind::gate : host_kind::local,
                 world, std::move(behind), std::move(s)));
  }

  static worker http(const scripted_worker& w) {
    return worker{w.handle()}.classified_by(
      classify_http<std::string>(read_answer));
  }

  static retrier_config patient(std::uint32_t attempts = 4) {
    return {.max_attempts = attempts,
            .backoff = schedule::constant(10ms),
            .idempotent = true,
            .budget = false};
  }

  using replies = std::vector<std::string>;

  // Answers with each of them in turn.
  scripted_worker answering(const replies& xs) {
    auto w = make_worker();
    for (const auto& x : xs)
      w.plan(scripted_worker::reply::value(x));
    return w;
  }

  std::vector<std::int64_t> answers_in(const caf::actor& g) {
    auto s = look(g);
    std::vector<std::int64_t> out;
    for (auto name :
         {"unknown", "ok", "retry", "retry_after", "conflict", "fail", "shed"})
      out.push_back(s.metric(std::string{"answers_"} + name));
    return out;
  }
  using counts = std::vector<std::int64_t>;
};

CAISSON_ALL_ORDERS(answers_test);

TEST_P(answers_test, a_503_is_repeated_when_the_server_says) {
  auto w = answering({"503 2", "503 1", "200"});
  auto g = host(http(w), stack{}.retrier(patient()));
  auto answer = world.request(g, 1);
  world.advance(2s - 1ns);
  EXPECT_EQ(w.count(), 1u);
  world.advance(1ns);
  EXPECT_EQ(w.count(), 2u);
  world.advance(1s - 1ns);
  EXPECT_EQ(w.count(), 2u);
  world.advance(1ns);
  EXPECT_EQ(answer.value<std::string>(), "200");
  EXPECT_EQ(metric_of(g, "retrier", "recovered"), 1);
  EXPECT_EQ(metric_of(g, "retrier", "pushed_back"), 2);
  EXPECT_EQ(metric_of(g, "succeeded"), 1);
  EXPECT_EQ(answers_in(g), (counts{0, 1, 0, 2, 0, 0, 0}));
}

TEST_P(answers_test, the_caller_gets_the_last_answer_itself) {
  auto w = answering({"503", "503"});
  auto g = host(http(w), stack{}.retrier(patient(2)));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(answer.value<std::string>(), "503");
  EXPECT_EQ(metric_of(g, "failed"), 1);
  EXPECT_EQ(metric_of(g, "succeeded"), 0);
}

TEST_P(answers_test, a_retry_after_that_makes_no_sense_means_stop) {
  for (auto text : {"503 -1", "503 soon", "503 99999999999999999999"}) {
    auto w = answering({text, "200"});
    auto g = host(http(w), stack{}.retrier(patient()));
    auto answer = world.request(g, 1);
    world.advance(1s);
    EXPECT_EQ(answer.value<std::string>(), text);
    EXPECT_EQ(metric_of(g, "retrier", "gave_up_pushback"), 1);
  }
}

TEST_P(answers_test, each_status_is_repeated_as_the_matrix_says) {
  const std::pair<std::string, std::size_t> table[] = {
    {"200", 1}, {"404", 1}, {"409", 1}, {"425", 4}, {"429", 4},
    {"500", 2}, {"501", 1}, {"502", 4}, {"503", 4}, {"504", 4},
  };
  for (const auto& [status, attempts] : table) {
    auto w = make_worker(scripted_worker::always(status));
    auto g = host(http(w), stack{}.retrier(patient()));
    auto answer = world.request(g, 1);
    world.advance(1s);
    EXPECT_EQ(answer.value<std::string>(), status);
    EXPECT_EQ(w.count(), attempts) << status;
  }
}

TEST_P(answers_test, wrong_requests_do_not_trip_the_breaker) {
  auto w = make_worker(scripted_worker::always(std::string{"404"}));
  auto g = host(http(w), stack{}.breaker({.threshold = 2}));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(world.request(g, i).value<std::string>(), "404");
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  w.become(scripted_worker::always(std::string{"500"}));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(world.request(g, i).value<std::string>(), "500");
  EXPECT_EQ(state_of(g, "breaker"), "open");
  EXPECT_TRUE(world.request(g, 1).is(errc::breaker_open));
}

TEST_P(answers_test, a_rolled_back_call_is_repeated_though_not_idempotent) {
  auto w = answering({"40001", "00000"});
  auto broken = answering({"08006", "00000"});
  auto c = patient();
  c.idempotent = false;
  auto sql = [](const scripted_worker& x) {
    return worker{x.handle()}.classified_by(
      classify_sqlstate<std::string>([](const std::string& s) { return s; }));
  };
  auto g = host(sql(w), stack{}.retrier(c));
  auto answer = world.request(g, 1);
  auto h = host(sql(broken), stack{}.retrier(c));
  auto other = world.request(h, 1);
  world.advance(1s);
  EXPECT_EQ(answer.value<std::string>(), "00000");
  EXPECT_EQ(other.value<std::string>(), "08006");
  EXPECT_EQ(metric_of(h, "retrier", "not_idempotent"), 1);
}

// The first attempt may have been done: the second one's answer is only about
// itself.
TEST_P(answers_test, an_attempt_not_done_says_nothing_of_other_attempts) {
  auto w = answering({"08006", "40001"});
  auto c = patient();
  c.max_attempts = 2;
  auto outer = patient();
  outer.name = "outer";
  outer.idempotent = false;
  auto g = host(worker{w.handle()}.classified_by(classify_sqlstate<std::string>(
                  [](const std::string& s) { return s; })),
                stack{}.retrier(outer).retrier(c));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(answer.value<std::string>(), "40001");
  EXPECT_EQ(w.count(), 2u);
  EXPECT_EQ(metric_of(g, "outer", "not_idempotent"), 1);
}

TEST_P(answers_test, an_adapter_that_throws_is_reported_and_leaves_a_success) {
  auto w = answering({"garbled", "404"});
  auto g = host(http(w), stack{}.retrier(patient()).breaker());
  auto user = world.make_probe();
  user.send(g, subscribe{});
  world.run_until_idle();
  EXPECT_EQ(world.request(g, 1).value<std::string>(), "garbled");
  EXPECT_EQ(world.request(g, 2).value<std::string>(), "404");
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
  EXPECT_EQ(metric_of(g, "retrier", "succeeded"), 1);
  EXPECT_EQ(answers_in(g), (counts{1, 0, 0, 0, 0, 1, 0}));
  std::vector<std::string> reports;
  for (const auto& x : user.received_as<event>())
    if (x.kind == event_kind::callback_failed)
      reports.push_back(x.layer + "|" + x.detail);
  EXPECT_EQ(reports, replies{"|classified_by: no status"});
}

TEST_P(answers_test, errors_of_own_categories_have_classes_by_name) {
  auto w = make_worker();
  using reply = scripted_worker::reply;
  auto code = static_cast<int>(caf::sec::runtime_error);
  auto table = classify_errors(
    {{"system_error:" + std::to_string(code), {.kind = answer_class::fail}},
     {"system_error:*", {.kind = answer_class::retry, .max_attempts = 2}}});
  auto g = host(worker{w.handle()}
                  .classified_by(classify_http<std::string>(read_answer))
                  .classified_by(table),
                stack{}.retrier(patient()));
  w.become(
    scripted_worker::always_reply(reply::error(caf::sec::runtime_error)));
  auto final_one = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(final_one.error(), caf::sec::runtime_error);
  EXPECT_EQ(w.count(), 1u);
  w.become(
    scripted_worker::always_reply(reply::error(caf::sec::end_of_stream)));
  auto repeated = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(repeated.error(), caf::sec::end_of_stream);
  EXPECT_EQ(w.count(), 3u);
  // Caisson's own are not its business.
  w.become(scripted_worker::always_reply(
    reply::error(make_error(errc::rate_limited))));
  auto own_error = world.request(g, 1);
  world.advance(1s);
  EXPECT_TRUE(own_error.is(errc::rate_limited));
  EXPECT_EQ(w.count(), 7u);
  EXPECT_EQ(answers_in(g), (counts{0, 0, 2, 0, 0, 1, 0}));
}

TEST_P(answers_test, an_error_may_be_as_good_as_a_success) {
  auto w = make_worker(scripted_worker::always(caf::sec::end_of_stream));
  auto g = host(worker{w.handle()}.classified_by(classify_errors(
                  {{"system_error:*", {.kind = answer_class::ok}}})),
                stack{}
                  .fallback({alternative::answer(std::string{"other"})})
                  .retrier(patient())
                  .breaker({.threshold = 1}));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(answer.error(), caf::sec::end_of_stream);
  EXPECT_EQ(metric_of(g, "retrier", "succeeded"), 1);
  EXPECT_EQ(metric_of(g, "breaker", "successes"), 1);
  EXPECT_EQ(metric_of(g, "fallback", "passed_up"), 1);
  // It is an error all the same.
  EXPECT_EQ(metric_of(g, "failed"), 1);
}

TEST_P(answers_test, a_chain_of_gates_judges_the_same_way) {
  auto w = make_worker(scripted_worker::always(std::string{"503"}));
  auto inner = gate(http(w), stack{"inner"}.breaker({.threshold = 3}));
  auto g = host(
    worker{inner}.classified_by(classify_http<std::string>(read_answer)),
    stack{"outer"}.retrier(patient(3)));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(answer.value<std::string>(), "503");
  EXPECT_EQ(w.count(), 3u);
  EXPECT_EQ(state_of(inner, "breaker"), "open");
}

TEST_P(answers_test, an_answer_through_a_gate_may_follow_other_attempts) {
  auto w = answering({"08006", "40001", "00000"});
  auto sql = classify_sqlstate<std::string>(
    [](const std::string& s) { return s; });
  auto c = patient(2);
  auto inner = gate(worker{w.handle()}.classified_by(sql),
                    stack{"inner"}.retrier(c));
  c.idempotent = false;
  auto g = host(worker{inner}.classified_by(sql), stack{"outer"}.retrier(c));
  auto answer = world.request(g, wrap(1));
  world.advance(1s);
  EXPECT_EQ(answer.value<std::string>(), "40001");
  EXPECT_EQ(metric_of(g, "retrier", "not_idempotent"), 1);
}

TEST_P(answers_test, a_fallback_asks_on_until_an_alternative_succeeds) {
  auto w = answering({"503", "404"});
  auto replica = answering({"502"});
  auto g = host(http(w),
                stack{}.fallback({alternative::ask(replica.handle()),
                                  alternative::answer(std::string{"200"})}));
  EXPECT_EQ(world.request(g, 1).value<std::string>(), "200");
  EXPECT_EQ(replica.count(), 1u);
  EXPECT_EQ(world.request(g, 2).value<std::string>(), "404");
  EXPECT_EQ(replica.count(), 1u);
  EXPECT_EQ(answers_in(g), (counts{0, 0, 1, 1, 0, 1, 0}));
}

TEST_P(answers_test, the_items_of_a_batch_are_judged_one_by_one) {
  auto w = make_worker();
  auto text = [](const char* x) { return caf::make_message(std::string{x}); };
  w.plan(
    scripted_worker::reply::value(batch_reply{{text("200"), text("503")}}));
  w.plan(scripted_worker::reply::value(batch_reply{{text("200")}}));
  auto g = host(http(w), stack{}.retrier(patient()).batcher(
                           {.max_items = 2, .max_delay = 5ms}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  world.advance(1s);
  EXPECT_EQ(a.value<std::string>(), "200");
  EXPECT_EQ(b.value<std::string>(), "200");
  EXPECT_EQ(w.count(), 2u);
  // Two batches, of which the adapter knows nothing, and three items.
  EXPECT_EQ(answers_in(g), (counts{2, 2, 0, 1, 0, 0, 0}));
}

TEST_P(answers_test, an_answer_to_a_whole_batch_fails_all_items) {
  auto w = make_worker(scripted_worker::always(std::string{"503"}));
  auto g = host(http(w), stack{}
                           .breaker({.threshold = 2})
                           .batcher({.max_items = 2, .max_delay = 5ms}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  world.advance(1s);
  EXPECT_EQ(a.value<std::string>(), "503");
  EXPECT_EQ(b.value<std::string>(), "503");
  EXPECT_EQ(metric_of(g, "breaker", "failures"), 2);
  EXPECT_EQ(state_of(g, "breaker"), "open");
}

TEST_P(answers_test, an_operator_changes_the_verdict_on_a_code) {
  static constexpr auto text = R"(
# [toml]
[[stack.web.layer]]
kind       = "retrier"
idempotent = true
backoff    = "10ms"
retry_on   = ["class:retry_after", "http:418", "sqlstate:40*"]
fail_on    = ["http:5xx"]
# [/toml]
)";
  auto w = make_worker(scripted_worker::always(std::string{"418"}));
  auto g = host(http(w), only_stack(text).policies);
  auto attempts = [&](const std::string& status) {
    auto before = w.count();
    w.become(scripted_worker::always(status));
    auto answer = world.request(g, 1);
    world.advance(1s);
    EXPECT_EQ(answer.value<std::string>(), status);
    return w.count() - before;
  };
  EXPECT_EQ(attempts("418"), 3u);
  EXPECT_EQ(attempts("503"), 1u);
  auto changed = world.request(
    g, reconfigure{"retrier",
                   {{"retry_on", "class:retry_after"}, {"fail_on", ""}}});
  EXPECT_TRUE(changed.ok());
  EXPECT_EQ(attempts("418"), 1u);
  EXPECT_EQ(attempts("503"), 3u);
  auto refused = world.request(
    g, reconfigure{"retrier", {{"retry_on", "http:5000"}}});
  EXPECT_TRUE(refused.is(errc::invalid_config));
  EXPECT_EQ(attempts("503"), 3u);
}

TEST_P(answers_test, reset_forgets_the_counts) {
  auto w = answering({"200"});
  auto g = host(http(w), stack{}.breaker());
  world.request(g, 1);
  EXPECT_EQ(answers_in(g), (counts{0, 1, 0, 0, 0, 0, 0}));
  world.request(g, command{operator_command::reset});
  EXPECT_EQ(answers_in(g), counts(7));
}

TEST_P(answers_test, a_world_full_of_failures_is_counted_as_such) {
  auto w = make_worker(scripted_worker::always(std::string{"429 3600"}));
  auto g = host(http(w),
                stack{}.limiter({.rate = 1'000'000'000, .burst = 100'000}));
  std::vector<pending_answer> all;
  for (int i = 0; i < 1'000; ++i)
    all.push_back(world.request(g, i));
  auto answered = 0;
  for (const auto& x : all)
    answered += x.ok();
  // The first one drains the bucket; the others are not even sent.
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(metric_of(g, "answers_shed"), 1);
}

TEST(classify_errors, refuses_names_that_are_not_of_a_category) {
  for (auto name :
       {"worker_down", "http:503", "class:shed", "app:0", "app", ""})
    EXPECT_THROW(static_cast<void>(classify_errors({{name, {}}})),
                 std::invalid_argument)
      << name;
}

TEST(info_of_http, compares_a_date_with_the_servers_own) {
  auto clock = [] {
    return wall_time{std::chrono::sys_days{std::chrono::year{2030} / 1 / 1}};
  };
  EXPECT_EQ(info_of({503, "Sun, 06 Nov 1994 08:49:47 GMT",
                     "Sun, 06 Nov 1994 08:49:37 GMT"},
                    clock)
              .retry_after,
            10s);
  EXPECT_EQ(info_of({503, "Tue, 01 Jan 2030 00:00:05 GMT"}, clock).retry_after,
            5s);
  EXPECT_EQ(
    info_of({503, "Tue, 01 Jan 2030 00:00:05 GMT", "noon"}, clock).retry_after,
    5s);
  EXPECT_EQ(info_of({200, "5"}, clock).retry_after, 0s);
  EXPECT_EQ(info_of({404, "5"}, clock).retry_after, 5s);
  EXPECT_EQ(info_of(grpc_result{14, "250"}).retry_after, 250ms);
  EXPECT_EQ(info_of(grpc_result{14, "-1"}).retry_after, do_not_retry);
  EXPECT_EQ(info_of(grpc_result{14}).retry_after, 0s);
  EXPECT_EQ(info_of(grpc_result{0, "-1"}).retry_after, 0s);
}

} // namespace
} // namespace caisson::test
