// Sample requests and calls by edge, as they are recorded.
#include <support/played_report.hpp>

#include <simulator/world/run_details.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

arm_result with_details(std::string_view text, sample_settings settings = {}) {
  auto s = parse_scenario(text, "test.toml");
  run_options o;
  o.details = settings;
  return run_arm(s.arms[0], o);
}

constexpr auto chain_world = R"(
length = '3s'
[service.web]
time = '10ms'
calls = ['db']
[service.db]
time = '20ms'
[[edge]]
latency = '1ms'
[load.users]
kind = 'constant'
rate = 10
target = 'web'
)";

TEST(run_details, are_there_only_if_asked_for) {
  auto s = parse_scenario(chain_world, "test.toml");
  EXPECT_EQ(run_arm(s.arms[0], {}).details, nullptr);
}

TEST(run_details, change_nothing_else) {
  auto s = parse_scenario(chain_world, "test.toml");
  auto without = run_arm(s.arms[0], {});
  auto with = with_details(chain_world);
  EXPECT_EQ(with.digest, without.digest);
  EXPECT_EQ(with.events, without.events);
  EXPECT_EQ(with.messages, without.messages);
}

TEST(run_details, have_the_way_of_a_request) {
  auto r = with_details(chain_world);
  const auto& samples = r.details->samples;
  ASSERT_EQ(samples.size(), 6u);
  const auto& s = samples[2];
  EXPECT_EQ(s.number, 11u);
  EXPECT_EQ(s.begun, 1s);
  EXPECT_EQ(s.how, "good");
  EXPECT_EQ(s.took, 34ms);
  ASSERT_EQ(s.calls.size(), 2u);
  const auto& web = s.calls[0];
  EXPECT_EQ(web.parent, sample_call::none);
  EXPECT_EQ(web.operation, 0u);
  EXPECT_EQ(web.sent_at, 0ms);
  EXPECT_EQ(web.ended, 34ms);
  ASSERT_EQ(web.works.size(), 1u);
  EXPECT_EQ(web.works[0].arrived, 1ms);
  EXPECT_EQ(web.works[0].begun, 1ms);
  EXPECT_EQ(web.works[0].left, 33ms);
  EXPECT_EQ(web.works[0].how, "done");
  const auto& db = s.calls[1];
  EXPECT_EQ(db.parent, 0u);
  EXPECT_EQ(db.operation, 1u);
  EXPECT_EQ(db.sent_at, 11ms);
  EXPECT_EQ(db.ended, 33ms);
  ASSERT_EQ(db.works.size(), 1u);
  EXPECT_EQ(db.works[0].arrived, 12ms);
  EXPECT_EQ(db.works[0].left, 32ms);
}

TEST(run_details, take_the_first_requests_of_chosen_seconds) {
  auto r = with_details(chain_world, {.every = 2, .requests = 3});
  std::vector<std::uint64_t> numbers;
  for (const auto& s : r.details->samples)
    numbers.push_back(s.number);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 2, 3, 21, 22, 23}));
}

TEST(run_details, show_attempts_and_work_for_nobody) {
  auto r = with_details(R"(
length = '1s'
[service.db]
queue = 0
time = '300ms'
[load.users]
kind = 'constant'
rate = 2
target = 'db'
timeout = '100ms'
attempts = 3
)",
                        {.requests = 1});
  ASSERT_EQ(r.details->samples.size(), 1u);
  const auto& s = r.details->samples[0];
  EXPECT_EQ(s.how, "queue_full");
  EXPECT_EQ(s.took, 100ms);
  ASSERT_EQ(s.calls.size(), 3u);
  EXPECT_EQ(s.calls[0].how, "timeout");
  EXPECT_EQ(s.calls[0].ended, 100ms);
  ASSERT_EQ(s.calls[0].works.size(), 1u);
  // Nobody waits for it any more.
  EXPECT_EQ(s.calls[0].works[0].left, 300ms);
  EXPECT_EQ(s.calls[0].works[0].how, "done");
  ASSERT_EQ(s.calls[1].works.size(), 1u);
  EXPECT_EQ(s.calls[1].works[0].how, "refuse");
  EXPECT_EQ(s.calls[1].works[0].begun, std::nullopt);
  EXPECT_EQ(s.calls[2].how, "queue_full");
}

TEST(run_details, show_the_attempts_of_policies_in_one_call) {
  auto r = with_details(R"(
length = '1s'
[service.db]
time = '10ms'
errors = 1.0
[load.users]
kind = 'constant'
rate = 1
target = 'db'
[[stack.again.layer]]
kind = 'retrier'
max_attempts = 3
backoff = '5ms'
budget = false
[[edge]]
stack = 'again'
)");
  const auto& s = r.details->samples.at(0);
  EXPECT_EQ(s.how, "failed");
  EXPECT_EQ(s.took, 40ms);
  ASSERT_EQ(s.calls.size(), 1u);
  ASSERT_EQ(s.calls[0].works.size(), 3u);
  EXPECT_EQ(s.calls[0].works[2].arrived, 30ms);
  EXPECT_EQ(s.calls[0].works[2].how, "fail");
  EXPECT_EQ(r.details->edges.at(0).at(0).calls, 1u);
  EXPECT_EQ(r.details->edges.at(0).at(0).failed, 1u);
}

TEST(run_details, say_who_gave_up) {
  auto r = with_details(R"(
length = '1s'
[service.web]
abandoned = 'cancel'
calls = ['db']
[service.db]
time = '500ms'
[load.users]
kind = 'constant'
rate = 1
target = 'web'
timeout = '100ms'
)");
  const auto& s = r.details->samples.at(0);
  ASSERT_EQ(s.calls.size(), 2u);
  EXPECT_EQ(s.calls[0].how, "timeout");
  EXPECT_EQ(s.calls[0].works.at(0).how, "drop");
  EXPECT_EQ(s.calls[1].how, "given_up");
  // The deadline that its caller works by is right after the timeout.
  EXPECT_EQ(s.calls[1].ended, 100ms + 1ns);
  EXPECT_EQ(s.calls[1].works.at(0).left, 500ms);
}

TEST(run_details, are_bounded) {
  constexpr auto wide = R"(
length = '1s'
[service.web]
calls = [{ to = 'db', count = 100 }]
[service.db]
workers = 'unlimited'
[load.users]
kind = 'constant'
rate = 1
target = 'web'
)";
  auto r = with_details(wide, {.calls = 10});
  const auto& s = r.details->samples.at(0);
  EXPECT_EQ(s.calls.size(), 10u);
  EXPECT_EQ(s.more, 91u);
  EXPECT_EQ(s.how, "good");
}

TEST(samples_for, keeps_pages_small) {
  EXPECT_EQ(samples_for(1, 100s).every, 1u);
  for (auto arms : {1u, 3u, 11u, 1000u})
    for (auto length : {1s, 120s, 7200s, 1'000'000s}) {
      auto s = samples_for(arms, length);
      auto seconds = (length.count() + s.every - 1) / s.every;
      auto calls = static_cast<std::size_t>(seconds) * s.requests * s.calls
                   * arms;
      EXPECT_LE(calls, std::max<std::size_t>(50'000, arms * 128));
    }
}

} // namespace
} // namespace caisson::sim
