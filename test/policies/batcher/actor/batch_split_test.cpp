// Batches that fail and are split, on both hosts.
#include "support/both_hosts.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class batch_split_test : public both_hosts {
protected:
  // Answers with the doubles, or fails the batch if a number is negative.
  scripted_worker::script failing() {
    return scripted_worker::on<batch>(
      [this](const batch& x) -> scripted_worker::reply {
        std::vector<int> numbers;
        batch_reply out;
        for (const auto& item : x.items) {
          numbers.push_back(*portable::get_if<int>(item));
          out.results.push_back(caf::make_message(numbers.back() * 2));
        }
        seen.push_back(numbers);
        if (*std::min_element(numbers.begin(), numbers.end()) < 0)
          return scripted_worker::reply::error(caf::sec::end_of_stream);
        return scripted_worker::reply::value(out);
      });
  }

  // Sends the numbers at once.
  std::vector<pending_answer> send(const caf::actor& g,
                                   const std::vector<int>& xs) {
    std::vector<pending_answer> out;
    for (auto x : xs)
      out.push_back(world.request(g, x));
    return out;
  }

  std::vector<std::vector<int>> seen;
};
CAISSON_BOTH_HOSTS(batch_split_test, 8);

TEST_P(batch_split_test, only_the_item_at_fault_fails) {
  auto w = make_worker(failing());
  auto g = host(w.handle(),
                stack{}.batcher(
                  {.max_items = 4, .max_outstanding = 1, .split_failed = 20}));
  auto answers = send(g, {1, 2, -3, 4});
  EXPECT_EQ(answers[0].value<int>(), 2);
  EXPECT_EQ(answers[1].value<int>(), 4);
  EXPECT_EQ(answers[2].error(), caf::sec::end_of_stream);
  EXPECT_EQ(answers[3].value<int>(), 8);
  EXPECT_EQ(seen, (std::vector<std::vector<int>>{
                    {1, 2, -3, 4}, {1, 2}, {-3, 4}, {-3}, {4}}));
  EXPECT_EQ(metric_of(g, "batcher", "batches_split"), 2);
  EXPECT_EQ(metric_of(g, "batcher", "flushed_by_split"), 4);
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
  EXPECT_EQ(metric_of(g, "batcher", "halves"), 0);
}

TEST_P(batch_split_test, a_depth_ends_it) {
  auto w = make_worker(failing());
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 4, .split_failed = 1}));
  auto answers = send(g, {1, 2, -3, 4});
  EXPECT_TRUE(answers[0].ok());
  EXPECT_TRUE(answers[1].ok());
  EXPECT_EQ(answers[2].error(), caf::sec::end_of_stream);
  EXPECT_EQ(answers[3].error(), caf::sec::end_of_stream);
}

TEST_P(batch_split_test, nothing_is_split_without_the_setting) {
  auto w = make_worker(failing());
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  auto answers = send(g, {1, -2});
  EXPECT_EQ(answers[0].error(), caf::sec::end_of_stream);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(batch_split_test, a_batch_that_was_sent_before_is_not_split) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  auto before = send(g, {1, 2});
  world.request(g, reconfigure{"batcher", {{"split_failed", "5"}}});
  auto after = send(g, {3, 4});
  w.fail(caf::sec::end_of_stream);
  EXPECT_EQ(before[0].error(), caf::sec::end_of_stream);
  EXPECT_EQ(before[1].error(), caf::sec::end_of_stream);
  w.fail(caf::sec::end_of_stream);
  EXPECT_FALSE(after[0].ready());
  ASSERT_EQ(w.open(), 2u);
  auto half = w.open_as<batch>();
  ASSERT_EQ(half.items.size(), 1u);
  EXPECT_EQ(half.items[0].get_as<int>(0), 3) << "its content was kept";
}

TEST_P(batch_split_test, what_is_sent_without_the_setting_is_not_kept) {
  auto w = make_worker();
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 4, .max_outstanding = 1, .split_failed = 5}));
  auto answers = send(g, {1, 2, 3, 4});
  w.fail(caf::sec::end_of_stream);
  world.request(g, reconfigure{"batcher", {{"split_failed", "0"}}});
  w.answer(std::string{"done"}); // The first half; the second is not kept.
  EXPECT_TRUE(answers[0].ok());
  world.request(g, reconfigure{"batcher", {{"split_failed", "5"}}});
  ASSERT_EQ(w.open_as<batch>().items.size(), 2u);
  w.fail(caf::sec::end_of_stream);
  EXPECT_EQ(answers[2].error(), caf::sec::end_of_stream);
  EXPECT_EQ(answers[3].error(), caf::sec::end_of_stream);
  EXPECT_EQ(w.open(), 0u);
}

TEST_P(batch_split_test, deadlines_hold_while_a_half_waits) {
  auto w = make_worker();
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 2, .max_outstanding = 1, .split_failed = 5}));
  auto a = world.request(g, wrap(1).within(9s));
  auto b = world.request(g, wrap(2).within(1s));
  w.fail(caf::sec::end_of_stream);
  world.advance(1s);
  EXPECT_TRUE(b.is(errc::deadline_exceeded));
  EXPECT_TRUE(context_of(b.error())->may_have_executed);
  w.answer(5);
  EXPECT_EQ(a.value<int>(), 5);
  EXPECT_EQ(w.count(), 2u) << "nothing is sent for the other one";
}

TEST_P(batch_split_test, an_item_marked_as_not_idempotent_is_not_repeated) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 2, .split_failed = 5}));
  auto a = world.request(g, wrap(1));
  auto b = world.request(g, wrap(2).idempotent(false));
  w.fail(caf::sec::end_of_stream);
  EXPECT_EQ(a.error(), caf::sec::end_of_stream);
  EXPECT_EQ(b.error(), caf::sec::end_of_stream);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(batch_split_test, a_worker_that_dies_ends_it) {
  auto w = make_worker();
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 4, .max_outstanding = 1, .split_failed = 5}));
  auto answers = send(g, {1, 2, 3, 4});
  w.fail(caf::sec::end_of_stream);
  w.quit();
  for (auto& x : answers)
    EXPECT_TRUE(x.is(errc::worker_down));
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
}

TEST_P(batch_split_test, a_drain_waits_for_the_halves) {
  auto w = make_worker(failing());
  auto g = host(w.handle(), stack{}.batcher({.max_items = 9,
                                             .max_delay = 1h,
                                             .max_outstanding = 1,
                                             .split_failed = 5}));
  auto answers = send(g, {1, -2, 3});
  auto drained = world.request(g, drain{});
  EXPECT_TRUE(drained.ready());
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(answers[1].error(), caf::sec::end_of_stream);
  EXPECT_TRUE(answers[2].ok());
}

TEST_P(batch_split_test, a_half_whose_message_cannot_be_built_fails_alone) {
  auto w = make_worker();
  batching forms;
  forms.assemble = [](std::vector<caf::message> items) {
    if (items.size() == 1 && *portable::get_if<int>(items[0]) == 13)
      throw std::runtime_error{"unlucky"};
    return caf::make_message(static_cast<int>(items.size()));
  };
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 2, .split_failed = 5}, forms));
  auto answers = send(g, {13, 2});
  w.fail(caf::sec::end_of_stream);
  EXPECT_TRUE(answers[0].is(errc::callback_failed));
  w.answer(7);
  EXPECT_EQ(answers[1].value<int>(), 7);
}

// A retrier sends the call again under the same ID while the batch that it has
// left is still in flight.
class batch_return_test : public world_test {
protected:
  caf::actor start(batching forms = {}) {
    return gate(w.handle(), stack{}
                              .retrier({.max_attempts = 5,
                                        .backoff = schedule::constant(1ms),
                                        .idempotent = true,
                                        .budget = false})
                              .deadline({.timeout = 1s})
                              .batcher({.max_items = 3,
                                        .max_delay = 100ms,
                                        .max_outstanding = 3,
                                        .split_failed = 5},
                                       std::move(forms)));
  }

  pending_answer send(const caf::actor& g, int x) {
    return world.request(g, wrap(x).within(1min));
  }

  // Numbers of the batches that have no answer.
  std::vector<std::vector<int>> open() {
    std::vector<std::vector<int>> out;
    for (std::size_t i = 0; i < w.open(); ++i) {
      auto& to = out.emplace_back();
      for (const auto& x :
           portable::get_if<batch>(w.open_message(i).content)->items)
        to.push_back(*portable::get_if<int>(x));
    }
    return out;
  }

  scripted_worker w = make_worker();
};
CAISSON_ALL_ORDERS(batch_return_test);

TEST_P(batch_return_test, an_item_that_returns_is_in_no_half_of_its_old_batch) {
  auto g = start();
  auto x = send(g, 1);
  world.advance(90ms);
  auto a = send(g, 2);
  world.advance(15ms);
  EXPECT_EQ(open(), (std::vector<std::vector<int>>{{1, 2}}));
  // The first attempt is over, and the second one is sent with others.
  world.advance(897ms);
  auto good_calls = std::vector{send(g, 8), send(g, 9)};
  EXPECT_EQ(open(), (std::vector<std::vector<int>>{{1, 2}, {1, 8, 9}}));
  w.fail_nth(0, caf::sec::end_of_stream);
  EXPECT_EQ(open(), (std::vector<std::vector<int>>{{1, 8, 9}, {2}}));
  w.answer_nth(1, batch_reply{{caf::make_message(4)}});
  w.answer_nth(0, batch_reply{{caf::make_message(2), caf::make_message(16),
                               caf::make_message(18)}});
  EXPECT_EQ(x.value<int>(), 2);
  EXPECT_EQ(a.value<int>(), 4);
  EXPECT_EQ(good_calls[1].value<int>(), 18);
  EXPECT_EQ(metric_of(g, "batcher", "waiting"), 0);
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
}

TEST_P(batch_return_test, nor_if_it_waits_again_with_equal_ones) {
  batching forms;
  forms.identity = [](const caf::message& x) {
    return std::to_string(*portable::get_if<int>(x) % 10);
  };
  auto g = start(std::move(forms));
  auto x = send(g, 1);
  world.advance(90ms);
  auto a = send(g, 2);
  world.advance(15ms);
  world.advance(897ms);
  w.fail_nth(0, caf::sec::end_of_stream);
  EXPECT_EQ(open(), (std::vector<std::vector<int>>{{2}}));
  auto equal = send(g, 11);
  auto good_calls = std::vector{send(g, 8), send(g, 9)};
  EXPECT_EQ(open(), (std::vector<std::vector<int>>{{2}, {1, 8, 9}}));
  w.answer_nth(1, batch_reply{{caf::make_message(2), caf::make_message(16),
                               caf::make_message(18)}});
  w.answer_nth(0, batch_reply{{caf::make_message(4)}});
  EXPECT_EQ(x.value<int>(), 2);
  EXPECT_EQ(equal.value<int>(), 2);
  EXPECT_EQ(a.value<int>(), 4);
  EXPECT_EQ(good_calls[0].value<int>(), 16);
  EXPECT_EQ(metric_of(g, "batcher", "shards"), 0);
}

} // namespace
} // namespace caisson::test
