// Batches by shard, on both hosts.
#include "support/both_hosts.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class batch_shards_test : public both_hosts {
protected:
  // The tens of a number are its shard.
  static batching by_tens() {
    batching forms;
    forms.shard = [](const caf::message& x) {
      auto n = *portable::get_if<int>(x);
      if (n == 13)
        throw std::runtime_error{"unlucky"};
      return std::to_string(n / 10);
    };
    return forms;
  }

  // Answers with the doubles.
  scripted_worker::script listing() {
    return scripted_worker::on<batch>([this](const batch& x) {
      std::vector<int> numbers;
      batch_reply out;
      for (const auto& item : x.items) {
        numbers.push_back(item.get_as<int>(0));
        out.results.push_back(caf::make_message(numbers.back() * 2));
      }
      seen.push_back(numbers);
      return out;
    });
  }

  using batches = std::vector<std::vector<int>>;
  batches seen;
};
CAISSON_BOTH_HOSTS(batch_shards_test, 8);

TEST_P(batch_shards_test, items_of_two_shards_share_no_batch) {
  auto w = make_worker(listing());
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, by_tens()));
  auto a = world.request(g, 11);
  auto b = world.request(g, 21);
  EXPECT_EQ(metric_of(g, "batcher", "shards"), 2);
  auto c = world.request(g, 22);
  auto d = world.request(g, 12);
  EXPECT_EQ(seen, (batches{{21, 22}, {11, 12}}));
  EXPECT_EQ(a.value<int>(), 22);
  EXPECT_EQ(b.value<int>(), 42);
  EXPECT_EQ(c.value<int>(), 44);
  EXPECT_EQ(d.value<int>(), 24);
  EXPECT_EQ(metric_of(g, "batcher", "shards"), 0);
}

TEST_P(batch_shards_test, each_has_its_own_delay) {
  auto w = make_worker(listing());
  auto g = host(w.handle(), stack{}.batcher({.max_delay = 10ms}, by_tens()));
  world.request(g, 11);
  world.advance(4ms);
  world.request(g, 21);
  world.advance(6ms);
  EXPECT_EQ(seen, (batches{{11}}));
  world.advance(4ms);
  EXPECT_EQ(seen, (batches{{11}, {21}}));
}

TEST_P(batch_shards_test, a_further_one_sends_the_next_one_early) {
  auto w = make_worker(listing());
  auto g = host(w.handle(),
                stack{}.batcher({.max_delay = 1h, .max_shards = 2}, by_tens()));
  world.request(g, 11);
  world.request(g, 21);
  EXPECT_TRUE(seen.empty());
  world.request(g, 31);
  EXPECT_EQ(seen, (batches{{11}}));
  EXPECT_EQ(metric_of(g, "batcher", "flushed_by_shards"), 1);
}

TEST_P(batch_shards_test, a_further_one_is_rejected_if_nothing_can_be_sent) {
  auto w = make_worker();
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 1, .max_outstanding = 1, .max_shards = 1},
                    by_tens()));
  world.request(g, 11);
  world.request(g, 12);
  auto rejected = world.request(g, 21);
  EXPECT_TRUE(rejected.is(errc::queue_full));
  EXPECT_EQ(metric_of(g, "batcher", "rejected_shards"), 1);
}

TEST_P(batch_shards_test, a_function_that_throws_fails_the_current_call) {
  auto w = make_worker(listing());
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, by_tens()));
  auto a = world.request(g, 11);
  auto bad = world.request(g, 13);
  EXPECT_TRUE(bad.is(errc::callback_failed));
  auto b = world.request(g, 12);
  EXPECT_EQ(a.value<int>(), 22);
  EXPECT_EQ(b.value<int>(), 24);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

TEST_P(batch_shards_test, a_drain_sends_all_of_them) {
  auto w = make_worker(listing());
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_delay = 1h, .max_outstanding = 1}, by_tens()));
  std::vector<pending_answer> answers;
  for (auto x : {11, 21, 31, 12})
    answers.push_back(world.request(g, x));
  auto drained = world.request(g, drain{});
  EXPECT_TRUE(drained.ready());
  for (auto& x : answers)
    EXPECT_TRUE(x.ok());
  EXPECT_EQ(seen, (batches{{11, 12}, {21}, {31}}));
}

TEST_P(batch_shards_test, settings_change_while_items_of_all_wait) {
  auto w = make_worker(listing());
  auto g = host(w.handle(), stack{}.batcher({.max_delay = 1h}, by_tens()));
  world.request(g, 11);
  world.request(g, 21);
  world.request(g, reconfigure{"batcher", {{"max_delay", "10ms"}}});
  world.advance(10ms);
  EXPECT_EQ(seen, (batches{{11}, {21}}));
}

} // namespace
} // namespace caisson::test
