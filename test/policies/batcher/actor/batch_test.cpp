// Batchers and fallbacks: the layers that handle content.
#include "support/both_hosts.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

CAF_BEGIN_TYPE_ID_BLOCK(batch_test, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(batch_test, (std::vector<int>))
CAF_ADD_TYPE_ID(batch_test, (std::vector<std::string>))
CAF_END_TYPE_ID_BLOCK(batch_test)

namespace caisson::test {
namespace {

// CAF 1.x wants to know all types before the first actor system exists, and in
// this program other tests come first.
[[maybe_unused]] const bool types_ready = [] {
  portable::init_types<caf::id_block::batch_test>();
  return true;
}();

class batch_test : public both_hosts {
protected:
  // Answers a batch of ints with the doubles of all of them.
  static scripted_worker::script doubling_batches() {
    return scripted_worker::on<batch>([](const batch& x) {
      batch_reply out;
      for (auto& item : x.items)
        out.results.push_back(caf::make_message(item.get_as<int>(0) * 2));
      return out;
    });
  }
};
CAISSON_BOTH_HOSTS(batch_test, 8);

TEST_P(batch_test, items_travel_as_one_and_get_their_own_results) {
  auto w = make_worker(doubling_batches());
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 3, .max_delay = 10ms}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  EXPECT_EQ(w.count(), 0u);
  auto c = world.request(g, 3);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(a.value<int>(), 2);
  EXPECT_EQ(b.value<int>(), 4);
  EXPECT_EQ(c.value<int>(), 6);
}

TEST_P(batch_test, a_batch_is_sent_when_it_weighs_enough) {
  auto w = make_worker(doubling_batches());
  batching forms;
  forms.weigh = [](const caf::message& x) {
    return static_cast<std::uint64_t>(*portable::get_if<int>(x));
  };
  auto g = host(w.handle(),
                stack{}.batcher({.max_weight = 10, .max_delay = 10ms}, forms));
  auto a = world.request(g, 6);
  auto b = world.request(g, 3);
  EXPECT_EQ(w.count(), 0u);
  auto c = world.request(g, 2); // Does not fit any more.
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(a.value<int>(), 12);
  EXPECT_EQ(b.value<int>(), 6);
  EXPECT_FALSE(c.ready());
  auto heavy = world.request(g, 11); // The one before it goes first.
  EXPECT_EQ(w.count(), 3u);
  EXPECT_EQ(c.value<int>(), 4);
  EXPECT_EQ(heavy.value<int>(), 22);
  EXPECT_EQ(metric_of(g, "batcher", "flushed_by_weight"), 3);
}

TEST_P(batch_test, items_weigh_their_permits_if_nothing_else_is_said) {
  auto w = make_worker(doubling_batches());
  auto g = host(w.handle(), stack{}.batcher({.max_weight = 5}));
  auto a = world.request(g, wrap(1).permits(2));
  EXPECT_FALSE(a.ready());
  auto b = world.request(g, wrap(2).permits(3));
  EXPECT_EQ(a.value<int>(), 2);
  EXPECT_EQ(b.value<int>(), 4);
}

TEST_P(batch_test, the_timer_flushes_an_incomplete_batch) {
  auto w = make_worker(doubling_batches());
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 3, .max_delay = 10ms}));
  auto a = world.request(g, 1);
  world.advance(10ms - 1ns);
  EXPECT_FALSE(a.ready());
  world.advance(1ns);
  EXPECT_EQ(a.value<int>(), 2);
}

TEST_P(batch_test, the_timer_of_a_flushed_batch_does_not_flush_the_next) {
  auto w = make_worker(doubling_batches());
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 2, .max_delay = 10ms}));
  world.request(g, 1);
  world.advance(5ms);
  world.request(g, 2);
  auto next = world.request(g, 3);
  world.advance(5ms);
  EXPECT_FALSE(next.ready());
  world.advance(5ms);
  EXPECT_TRUE(next.ok());
}

TEST_P(batch_test, an_early_deadline_flushes_early) {
  auto w = make_worker(doubling_batches());
  auto g = host(w.handle(),
                stack{}.batcher(
                  {.max_items = 100, .max_delay = 1s, .deadline_margin = 5ms}));
  auto a = world.request(g, wrap(1).within(50ms));
  world.advance(45ms - 1ns);
  EXPECT_EQ(w.count(), 0u);
  world.advance(1ns);
  EXPECT_EQ(a.value<int>(), 2);
}

TEST_P(batch_test, a_missing_result_is_that_items_error) {
  auto w = make_worker([](const caf::message&) {
    return std::optional{caf::make_message(batch_reply{
      {caf::make_message(1),
       caf::make_message(caf::make_error(caf::sec::end_of_stream))}})};
  });
  auto g = host(w.handle(), stack{}.batcher({.max_items = 3}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  auto c = world.request(g, 3);
  EXPECT_EQ(a.value<int>(), 1);
  EXPECT_EQ(b.error(), caf::sec::end_of_stream);
  EXPECT_TRUE(c.is(errc::batch_failed));
  EXPECT_EQ(context_of(c.error())->policy, "batcher");
}

TEST_P(batch_test, any_other_answer_is_for_all) {
  auto w = make_worker(scripted_worker::always(std::string{"done"}));
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  EXPECT_EQ(a.value<std::string>(), "done");
  EXPECT_EQ(b.value<std::string>(), "done");
}

TEST_P(batch_test, an_error_is_for_all) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  w.fail(caf::make_error(caf::sec::end_of_stream));
  EXPECT_EQ(a.error(), caf::sec::end_of_stream);
  EXPECT_EQ(b.error(), caf::sec::end_of_stream);
  EXPECT_EQ(a.count() + b.count(), 2u);
}

TEST_P(batch_test, vectors_of_values_are_batches_too) {
  auto w = make_worker(
    [](const caf::message& msg) -> std::optional<caf::message> {
      std::vector<std::string> out;
      for (auto x : msg.get_as<std::vector<int>>(0))
        out.push_back(std::to_string(x));
      return caf::make_message(out);
    });
  auto g = host(
    w.handle(),
    stack{}.batcher({.max_items = 2}, batching::vectors<int, std::string>()));
  auto a = world.request(g, 1);
  auto wrong = world.request(g, std::string{"no int"});
  EXPECT_EQ(wrong.error(), caf::sec::unexpected_message);
  auto b = world.request(g, 2);
  EXPECT_EQ(a.value<std::string>(), "1");
  EXPECT_EQ(b.value<std::string>(), "2");
  EXPECT_EQ(metric_of(g, "batcher", "prefiltered"), 1);
}

TEST_P(batch_test, equal_items_are_one_value_of_the_vector) {
  auto w = make_worker();
  auto forms = batching::vectors<int, std::string>();
  forms.identity = [](const caf::message& x) {
    return std::to_string(*portable::get_if<int>(x));
  };
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}, forms));
  auto a = world.request(g, 1);
  auto b = world.request(g, 1);
  auto c = world.request(g, 2);
  EXPECT_EQ(w.open_as<std::vector<int>>(), (std::vector<int>{1, 2}));
  w.answer(std::vector<std::string>{"one", "two"});
  EXPECT_EQ(a.value<std::string>(), "one");
  EXPECT_EQ(b.value<std::string>(), "one");
  EXPECT_EQ(c.value<std::string>(), "two");
}

TEST_P(batch_test, drain_flushes_what_waits) {
  auto w = make_worker(doubling_batches());
  auto g = host(w.handle(), stack{}.batcher({.max_items = 9, .max_delay = 1h}));
  auto a = world.request(g, 1);
  auto drained = world.request(g, drain{});
  EXPECT_EQ(a.value<int>(), 2);
  EXPECT_TRUE(drained.ready());
}

TEST_P(batch_test, items_may_be_rejected_while_enough_is_in_flight) {
  auto w = make_worker();
  batching forms;
  forms.identity = [](const caf::message& x) {
    return std::to_string(*portable::get_if<int>(x));
  };
  auto g = host(w.handle(),
                stack{}.batcher({.max_items = 2,
                                 .max_delay = 10ms,
                                 .max_outstanding = 1,
                                 .when_blocked = blocked_items::reject},
                                forms));
  auto a = world.request(g, 1);
  auto equal = world.request(g, 1);
  EXPECT_EQ(w.count(), 0u);
  auto b = world.request(g, 2);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_TRUE(world.request(g, 3).is(errc::queue_full));
  EXPECT_TRUE(world.request(g, 1).is(errc::queue_full)) << "none waits";
  EXPECT_EQ(metric_of(g, "batcher", "rejected_blocked"), 2);
  world.request(g, reconfigure{"batcher", {{"when_blocked", "wait"}}});
  auto c = world.request(g, 4);
  EXPECT_FALSE(c.ready());
  EXPECT_EQ(metric_of(g, "batcher", "waiting"), 1);
  world.request(g, reconfigure{"batcher", {{"when_blocked", "reject"}}});
  auto d = world.request(g, 4);
  EXPECT_FALSE(d.ready()) << "it is equal to one that waits";
  auto refused = world.request(g, reconfigure{"batcher", {{"max_delay", "0"}}});
  EXPECT_FALSE(refused.ok());
}

TEST_P(batch_test, nothing_is_rejected_where_it_is_only_observed) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{}.batcher({.mode = mode::observe,
                                 .max_items = 1,
                                 .max_outstanding = 1,
                                 .when_blocked = blocked_items::reject}));
  for (int i = 0; i < 5; ++i)
    world.request(g, i);
  EXPECT_EQ(w.count(), 5u);
  EXPECT_EQ(metric_of(g, "batcher", "rejected_blocked"), 0);
}

TEST_P(batch_test, an_item_past_its_deadline_leaves_the_others_alone) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  auto a = world.request(g, wrap(1).within(1s));
  auto b = world.request(g, wrap(2).within(9s));
  world.advance(1s);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  EXPECT_TRUE(context_of(a.error())->may_have_executed);
  w.answer(batch_reply{{caf::make_message(10), caf::make_message(20)}});
  EXPECT_EQ(b.value<int>(), 20);
  EXPECT_EQ(a.count() + b.count(), 2u);
}

TEST_P(batch_test, a_failed_batch_is_retried_as_a_whole) {
  auto w = make_worker(doubling_batches());
  w.plan(scripted_worker::reply::error(caf::sec::end_of_stream));
  auto g = host(w.handle(), stack{}
                              .batcher({.max_items = 2})
                              .retrier({.backoff = schedule::constant(1s),
                                        .idempotent = true}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  world.advance(1s);
  EXPECT_EQ(a.value<int>(), 2);
  EXPECT_EQ(b.value<int>(), 4);
  EXPECT_EQ(w.count(), 2u);
}

// -- fallback -----------------------------------------------------------------

class fallback_test : public both_hosts {};
CAISSON_BOTH_HOSTS(fallback_test, 8);

TEST_P(fallback_test, a_value_stands_in_for_an_error) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.fallback({alternative::answer(-1)}));
  auto a = world.request(g, 1);
  w.fail(caf::make_error(caf::sec::end_of_stream));
  EXPECT_EQ(a.value<int>(), -1);
  auto b = world.request(g, 1);
  w.answer(5);
  EXPECT_EQ(b.value<int>(), 5);
}

TEST_P(fallback_test, the_chain_is_tried_in_order) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
  auto second = make_worker();
  auto third = make_worker(doubles());
  auto g = host(w.handle(),
                stack{}.fallback({alternative::ask(second.handle()),
                                  alternative::ask(third.handle())}));
  auto a = world.request(g, 4);
  ASSERT_EQ(second.open(), 1u);
  EXPECT_EQ(second.open_as<int>(), 4);
  second.fail(caf::make_error(caf::sec::end_of_stream));
  EXPECT_EQ(a.value<int>(), 8);
}

TEST_P(fallback_test, an_alternative_that_dies_is_a_failure_of_it) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
  auto other = make_worker();
  auto g = host(w.handle(), stack{}.fallback({alternative::ask(other.handle()),
                                              alternative::answer(-1)}));
  auto a = world.request(g, 4);
  other.quit();
  EXPECT_EQ(a.value<int>(), -1);
  auto b = world.request(g, 4);
  EXPECT_EQ(b.value<int>(), -1);
}

TEST_P(fallback_test, the_deadline_counts_for_alternatives_too) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
  auto other = make_worker();
  auto g = host(w.handle(),
                stack{}.fallback({alternative::ask(other.handle())}));
  auto a = world.request(g, wrap(4).within(1s));
  world.advance(1s);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  other.answer(1);
  EXPECT_EQ(a.count(), 1u);
  EXPECT_EQ(metric_of(g, "late_results"), 1);
}

TEST_P(fallback_test, a_breaker_further_in_opens_all_the_same) {
  auto w = make_worker(
    scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
  auto g = host(
    w.handle(),
    stack{}.fallback({alternative::answer(-1)}).breaker({.threshold = 3}));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(world.request(g, 4).value<int>(), -1);
  EXPECT_EQ(w.count(), 3u);
  EXPECT_EQ(state_of(g, "breaker"), "open");
}

TEST_P(fallback_test, an_empty_chain_is_refused) {
  EXPECT_THROW(host(worker{caf::actor{}}, stack{}.fallback({})), config_error);
}

} // namespace
} // namespace caisson::test
