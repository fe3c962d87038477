// Equal items, on both hosts: what the worker gets, and who gets the answers.
#include "support/both_hosts.hpp"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class batch_identity_test : public both_hosts {
protected:
  // Numbers are equal modulo ten.
  static batching modulo_ten() {
    batching forms;
    forms.identity = [](const caf::message& x) {
      auto n = *portable::get_if<int>(x);
      if (n == 13)
        throw std::runtime_error{"unlucky"};
      return n < 0 ? std::string{} : std::to_string(n % 10);
    };
    return forms;
  }

  static std::vector<int> numbers_in(const batch& x) {
    std::vector<int> out;
    for (const auto& item : x.items)
      out.push_back(item.get_as<int>(0));
    return out;
  }

  static caf::message results(const std::vector<int>& xs) {
    batch_reply out;
    for (auto x : xs)
      out.results.push_back(caf::make_message(x));
    return caf::make_message(std::move(out));
  }
};
CAISSON_BOTH_HOSTS(batch_identity_test, 8);

TEST_P(batch_identity_test, equal_items_are_sent_once) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 3}, modulo_ten()));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  auto c = world.request(g, 11);
  EXPECT_EQ(w.count(), 0u);
  auto d = world.request(g, 3);
  EXPECT_EQ(numbers_in(w.open_as<batch>()), (std::vector<int>{1, 2, 3}));
  w.answer(results({100, 200, 300}));
  EXPECT_EQ(a.value<int>(), 100);
  EXPECT_EQ(b.value<int>(), 200);
  EXPECT_EQ(c.value<int>(), 100);
  EXPECT_EQ(d.value<int>(), 300);
  EXPECT_EQ(metric_of(g, "batcher", "equal_items"), 1);
}

TEST_P(batch_identity_test, a_result_that_is_missing_is_so_for_all) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, modulo_ten()));
  auto a = world.request(g, 1);
  auto b = world.request(g, 11);
  auto c = world.request(g, 2);
  w.answer(results({100}));
  EXPECT_EQ(a.value<int>(), 100);
  EXPECT_EQ(b.value<int>(), 100);
  EXPECT_TRUE(c.is(errc::batch_failed));
}

TEST_P(batch_identity_test, one_answer_for_all_is_for_all) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, modulo_ten()));
  auto a = world.request(g, 1);
  auto b = world.request(g, 11);
  auto c = world.request(g, 2);
  w.answer(7);
  EXPECT_EQ(a.value<int>() + b.value<int>() + c.value<int>(), 21);
}

TEST_P(batch_identity_test, own_functions_see_each_item_once) {
  auto w = make_worker();
  auto forms = modulo_ten();
  std::size_t parts = 0;
  forms.assemble = [](std::vector<caf::message> items) {
    return caf::make_message(static_cast<int>(items.size()));
  };
  forms.split = [&](caf::message, std::size_t n) {
    parts = n;
    std::vector<caf::message> out;
    for (std::size_t i = 0; i < n; ++i)
      out.push_back(caf::make_message(static_cast<int>(i)));
    return out;
  };
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, forms));
  auto a = world.request(g, 1);
  auto b = world.request(g, 11);
  auto c = world.request(g, 2);
  EXPECT_EQ(w.open_as<int>(), 2);
  w.answer(std::string{"done"});
  EXPECT_EQ(parts, 2u);
  EXPECT_EQ(a.value<int>(), 0);
  EXPECT_EQ(b.value<int>(), 0);
  EXPECT_EQ(c.value<int>(), 1);
}

TEST_P(batch_identity_test, a_caller_that_gives_up_leaves_the_others_alone) {
  auto w = make_worker();
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 2, .max_delay = 1h, .deadline_margin = 0ns},
                    modulo_ten()));
  auto before = world.request(g, wrap(1).within(1s));
  auto a = world.request(g, 11);
  world.advance(1s);
  EXPECT_TRUE(before.is(errc::deadline_exceeded));
  auto b = world.request(g, 2);
  EXPECT_EQ(numbers_in(w.open_as<batch>()), (std::vector<int>{11, 2}));
  w.answer(results({5, 6}));
  EXPECT_EQ(a.value<int>(), 5);
  EXPECT_EQ(b.value<int>(), 6);
}

TEST_P(batch_identity_test, a_caller_that_gives_up_later_does_so_as_well) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, modulo_ten()));
  auto a = world.request(g, wrap(1).within(1s));
  auto b = world.request(g, wrap(11).within(9s));
  auto c = world.request(g, wrap(2).within(9s));
  world.advance(1s);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  w.answer(results({100, 200}));
  EXPECT_EQ(b.value<int>(), 100);
  EXPECT_EQ(c.value<int>(), 200);
}

TEST_P(batch_identity_test, an_empty_identity_is_that_of_no_other) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, modulo_ten()));
  world.request(g, -1);
  world.request(g, -1);
  EXPECT_EQ(numbers_in(w.open_as<batch>()), (std::vector<int>{-1, -1}));
}

TEST_P(batch_identity_test, a_function_that_throws_fails_the_current_call) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, modulo_ten()));
  auto a = world.request(g, 1);
  auto bad = world.request(g, 13);
  EXPECT_TRUE(bad.is(errc::callback_failed));
  auto b = world.request(g, 2);
  w.answer(results({100, 200}));
  EXPECT_EQ(a.value<int>(), 100);
  EXPECT_EQ(b.value<int>(), 200);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
}

TEST_P(batch_identity_test, equal_items_stay_together_when_a_batch_is_split) {
  auto w = make_worker();
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 2, .max_outstanding = 1, .split_failed = 5},
                    modulo_ten()));
  auto a = world.request(g, 1);
  auto b = world.request(g, 11);
  auto c = world.request(g, 2);
  w.fail(caf::sec::end_of_stream);
  EXPECT_EQ(numbers_in(w.open_as<batch>()), std::vector<int>{1});
  w.answer(results({100}));
  EXPECT_EQ(a.value<int>(), 100);
  EXPECT_EQ(b.value<int>(), 100);
  EXPECT_EQ(numbers_in(w.open_as<batch>()), std::vector<int>{2});
  w.fail(caf::sec::end_of_stream);
  EXPECT_EQ(c.error(), caf::sec::end_of_stream);
}

} // namespace
} // namespace caisson::test
