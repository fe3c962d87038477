// Parts of an engine alone.
#include <caisson/engine/caller_watch.hpp>
#include <caisson/engine/event_hub.hpp>
#include <caisson/engine/layer_table.hpp>
#include <caisson/engine/target_table.hpp>
#include <caisson/engine/upstream.hpp>

#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace caisson::detail {
namespace {

using namespace std::chrono_literals;
using test::lines;
using test::text;

/// A host of which only a few functions matter.
struct quiet_host : engine_host {
  std::uint64_t deliver(target_id, std::uint64_t, caf::message&&,
                        bool) override {
    return 0;
  }
  void send_cancelled(target_id, std::uint64_t) override {}
  void answer(reply_slot, caf::message&&) override {}
  void wake_at(time_point) override {}
  void emit(const event& x) override { reports.push_back(x); }
  bool has_subscribers() const override { return listens; }
  void watch_caller(const reply_slot& caller) override {
    EXPECT_TRUE(watched.insert(caller.caller()).second);
  }
  void unwatch_caller(std::uint64_t caller) override {
    EXPECT_EQ(watched.erase(caller), 1u);
  }
  std::optional<made_worker> make_worker(std::uint32_t) override { return {}; }
  void forget_worker() override {}
  bool is_down(target_id) const override { return false; }
  void worker_given_up(const std::string&) override {}
  void engine_failed(const caf::error&) override {}
  void hold_open(bool) override {}

  std::set<std::uint64_t> watched;
  std::vector<event> reports;
  bool listens = false;
};

// -- caller_watch -------------------------------------------------------------

struct watch : testing::Test {
  call_record call_of(std::uint64_t caller) {
    call_record r;
    r.from = reply_slot{0, true, false, caller, 1};
    return r;
  }

  /// The calls that a death cancels.
  std::vector<call_record*> cancelled_by(std::uint64_t caller) {
    host.watched.erase(caller);
    std::vector<call_record*> out;
    callers.on_down(caller, [&](call_record& r) {
      out.push_back(&r);
      callers.release(r);
    });
    return out;
  }

  quiet_host host;
  caller_watch callers{host};
};

using people = std::set<std::uint64_t>;

TEST_F(watch, one_watch_serves_all_calls_of_a_caller) {
  auto x = call_of(5), y = call_of(5), z = call_of(6);
  callers.watch(x);
  callers.watch(x);
  callers.watch(y);
  callers.watch(z);
  EXPECT_EQ(host.watched, (people{5, 6}));
  EXPECT_EQ(cancelled_by(5), (std::vector<call_record*>{&x, &y}));
  EXPECT_EQ(cancelled_by(5), (std::vector<call_record*>{}));
  EXPECT_EQ(cancelled_by(6), (std::vector<call_record*>{&z}));
}

TEST_F(watch, a_call_without_a_caller_is_not_watched) {
  auto x = call_of(0);
  callers.watch(x);
  callers.release(x);
  EXPECT_EQ(host.watched, (people{}));
}

TEST_F(watch, a_call_that_has_ended_is_not_cancelled) {
  auto x = call_of(5), y = call_of(5);
  callers.watch(x);
  callers.watch(y);
  callers.release(x);
  callers.release(x);
  EXPECT_EQ(cancelled_by(5), (std::vector<call_record*>{&y}));
}

TEST_F(watch, idle_callers_stay_watched_up_to_a_bound) {
  std::vector<call_record> xs;
  for (std::uint64_t caller = 1; caller <= caller_watch::max_idle + 1; ++caller)
    xs.push_back(call_of(caller));
  for (auto& x : xs)
    callers.watch(x);
  for (auto& x : xs)
    callers.release(x);
  EXPECT_EQ(host.watched.size(), caller_watch::max_idle);
  EXPECT_EQ(host.watched.count(1), 0u); // The one that was idle first.
  // Busy ones are not among the idle.
  callers.watch(xs[1]);
  callers.watch(xs[0]);
  callers.release(xs[0]);
  EXPECT_EQ(host.watched.size(), caller_watch::max_idle + 1);
  EXPECT_EQ(host.watched.count(2), 1u);
  callers.release(xs[1]);
  EXPECT_EQ(host.watched.size(), caller_watch::max_idle);
  EXPECT_EQ(host.watched.count(3), 0u);
}

TEST_F(watch, the_death_of_an_idle_caller_makes_room) {
  std::vector<call_record> xs;
  for (std::uint64_t caller = 1; caller <= caller_watch::max_idle + 1; ++caller)
    xs.push_back(call_of(caller));
  for (std::size_t i = 0; i < caller_watch::max_idle; ++i) {
    callers.watch(xs[i]);
    callers.release(xs[i]);
  }
  EXPECT_TRUE(cancelled_by(7).empty());
  callers.watch(xs.back());
  callers.release(xs.back());
  EXPECT_EQ(host.watched.size(), caller_watch::max_idle);
  EXPECT_EQ(host.watched.count(1), 1u);
}

// -- event_hub ----------------------------------------------------------------

TEST(events, are_numbered_also_without_subscribers) {
  quiet_host host;
  call_table calls{0, 1};
  event_hub hub{host, "gate", calls};
  hub.publish(time_point{5ms}, "layer", {.kind = event_kind::rejected});
  EXPECT_TRUE(host.reports.empty());
  host.listens = true;
  hub.publish(time_point{7ms}, "layer",
              {.kind = event_kind::state_changed,
               .from = "closed",
               .to = "open",
               .detail = "why",
               .call = calls.take().id,
               .delay = 3ms});
  ASSERT_EQ(host.reports.size(), 1u);
  const auto& x = host.reports[0];
  EXPECT_EQ(x.number, 2u);
  EXPECT_EQ(x.time_ns, 7'000'000);
  EXPECT_EQ(x.gate, "gate");
  EXPECT_EQ(x.layer, "layer");
  EXPECT_EQ(x.kind, event_kind::state_changed);
  EXPECT_EQ(x.from, "closed");
  EXPECT_EQ(x.to, "open");
  EXPECT_EQ(x.detail, "why");
  EXPECT_EQ(x.call, 1u);
  EXPECT_EQ(x.delay, duration{3ms});
}

TEST(events, that_are_only_made_take_no_number) {
  quiet_host host;
  call_table calls{0, 1};
  event_hub hub{host, "gate", calls};
  host.listens = true;
  hub.publish(time_point{}, {}, {.kind = event_kind::expired});
  EXPECT_EQ(hub.make(time_point{}, {}, {.kind = event_kind::expired}).number,
            1u);
  EXPECT_EQ(host.reports.size(), 1u);
}

// -- layer_table --------------------------------------------------------------

struct table : testing::Test {
  layer_table& make() {
    layers = std::make_unique<layer_table>(std::move(stack), hub, random,
                                           secrets);
    layers->context().now = time_point{1s};
    layers->context().children = [this](std::size_t k, child_call) {
      children_of.push_back(k);
      return children_of.size();
    };
    return *layers;
  }

  quiet_host host;
  call_table calls{0, 1};
  event_hub hub{host, "gate", calls};
  random_source random{7};
  secret_source secrets{7};
  std::vector<std::size_t> children_of;
  test::puppets stack;
  test::puppet_layer& outer = stack.add("outer", 2);
  test::puppet_layer& middle = stack.add("middle");
  test::puppet_layer& inner = stack.add("inner", 3);
  std::unique_ptr<layer_table> layers;
};

TEST_F(table, numbers_the_targets_of_layers_in_order) {
  auto& t = make();
  using ids = std::vector<target_id>;
  EXPECT_EQ(t[0].targets, (ids{1, 2}));
  EXPECT_EQ(t[1].targets, ids{});
  EXPECT_EQ(t[2].targets, (ids{3, 4, 5}));
}

TEST_F(table, finds_layers_by_name) {
  auto& t = make();
  EXPECT_EQ(t.named("inner"), 2u);
  EXPECT_EQ(t.named("other"), std::nullopt);
}

TEST_F(table, keeps_content_if_one_layer_wants_it) {
  EXPECT_FALSE(make().resends());
}

TEST_F(table, keeps_content_for_any_layer) {
  inner.machine().keeps_content = true;
  EXPECT_TRUE(make().resends());
}

TEST_F(table, hands_out_requests_in_the_order_of_asking) {
  auto& t = make();
  t.run(2, [](policy&, env& e) { e.resume(1); });
  t.run(0, [](policy&, env& e) {
    e.reject(2, errc::shed);
    e.start_child({});
  });
  std::vector<std::pair<std::size_t, env::action::kind>> seen;
  while (auto x = t.next_request())
    seen.emplace_back(x->layer, x->what.what);
  using kind = env::action::kind;
  EXPECT_EQ(seen,
            (decltype(seen){
              {2, kind::resume}, {0, kind::reject}, {0, kind::start_child}}));
  EXPECT_EQ(children_of, (std::vector<std::size_t>{0}));
}

TEST_F(table, requests_while_content_is_made_belong_to_its_layer) {
  auto& t = make();
  t.run_content(2, [](layer&, env& e) { e.resume(1); });
  t.run(0, [](policy&, env&) {});
  auto x = t.next_request();
  ASSERT_TRUE(x);
  EXPECT_EQ(x->layer, 2u);
  EXPECT_FALSE(t.next_request());
}

TEST_F(table, wakes_the_first_layer_that_is_due) {
  auto& t = make();
  EXPECT_EQ(t.next_wakeup().first, never);
  inner.machine().wake_at = time_point{5s};
  outer.machine().wake_at = time_point{5s};
  middle.machine().wake_at = time_point{6s};
  EXPECT_EQ(t.next_wakeup().first, never) << "asked after turns only";
  for (std::size_t k = 0; k < 3; ++k)
    t.run(k, [](policy&, env&) {});
  EXPECT_EQ(t.next_wakeup(), (std::pair{time_point{5s}, std::size_t{0}}));
  outer.machine().wake_at = never;
  t.run(0, [](policy&, env&) {});
  EXPECT_EQ(t.next_wakeup(), (std::pair{time_point{5s}, std::size_t{2}}));
}

TEST_F(table, a_function_that_throws_is_reported_once_and_forgotten) {
  host.listens = true;
  auto& t = make();
  t.run(1,
        [](policy&, env& e) { e.callback_threw("f", std::string(600, 'x')); });
  EXPECT_EQ(t.take_failure(), "f: " + std::string(512, 'x'));
  EXPECT_EQ(t.take_failure(), std::nullopt);
  t.run(1, [](policy&, env& e) { e.callback_threw("f", "y"); });
  t.run(2, [](policy&, env&) {});
  EXPECT_EQ(t.take_failure(), std::nullopt);
  EXPECT_EQ(t.callbacks_failed, 2);
  ASSERT_EQ(host.reports.size(), 2u);
  EXPECT_EQ(host.reports[1].layer, "middle");
  EXPECT_EQ(host.reports[1].detail, "f: y");
}

TEST_F(table, events_belong_to_the_layer_in_turn) {
  host.listens = true;
  auto& t = make();
  t.run(2, [](policy&, env& e) { e.emit({.kind = event_kind::rejected}); });
  t.publish({.kind = event_kind::expired});
  ASSERT_EQ(host.reports.size(), 2u);
  EXPECT_EQ(host.reports[0].layer, "inner");
  EXPECT_EQ(host.reports[1].layer, "");
}

// -- target_table -------------------------------------------------------------

TEST(targets, the_number_of_one_that_was_dropped_is_given_again) {
  target_table all;
  auto first = all.add({.is_gate = true});
  EXPECT_EQ(first, worker_target + 1);
  all.add({});
  all.drop(first);
  EXPECT_EQ(all.next(), first);
  EXPECT_EQ(all.add({.takes_calls = true}), first);
  EXPECT_FALSE(all[first].info.is_gate);
  EXPECT_EQ(all.next(), first + 2);
}

TEST(targets, calls_that_are_taken_are_there_no_more) {
  target_table all;
  call_record r;
  all[worker_target].calls.push_back(r);
  auto taken = all.take_calls(worker_target);
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(&taken.front(), &r);
  EXPECT_TRUE(all.take_calls(worker_target).empty());
}

// -- upstream -----------------------------------------------------------------

struct worker_alone : testing::Test {
  explicit worker_alone(bool grouped = false) : core{host, setup(grouped)} {}

  static engine_setup setup(bool grouped) {
    engine_setup out;
    out.grouped = grouped;
    return out;
  }

  call_record& call() {
    auto& r = core.calls.take();
    r.depth = 0;
    return r;
  }

  quiet_host host;
  engine_core core;
  target_table targets;
  upstream upstream_part{
    core, targets, {.max_waiting = 1, .on_give_up = give_up_action::quit}};
};

TEST_F(worker_alone, calls_wait_up_to_a_bound_while_it_is_made) {
  EXPECT_FALSE(upstream_part.supervise().sends_waiting);
  auto& first = call();
  auto& second = call();
  EXPECT_EQ(upstream_part.take(first).what, next_step::kind::none);
  EXPECT_EQ(first.where, phase::waiting);
  auto refused = upstream_part.take(second);
  ASSERT_EQ(refused.what, next_step::kind::ascend);
  EXPECT_EQ(refused.layer, -1);
  EXPECT_TRUE(refused.result->is(errc::queue_full));
  EXPECT_TRUE(upstream_part.on_worker({.info = target_info{}}).sends_waiting);
  EXPECT_EQ(upstream_part.pop_waiting(), &first);
  EXPECT_EQ(first.where, phase::moving);
  EXPECT_EQ(upstream_part.pop_waiting(), nullptr);
  EXPECT_EQ(upstream_part.take(second).what, next_step::kind::send);
}

TEST_F(worker_alone, a_call_that_stops_waiting_is_not_sent) {
  (void)upstream_part.supervise();
  auto& r = call();
  (void)upstream_part.take(r);
  upstream_part.stop_waiting(r);
  core.calls.move_to(r, phase::moving);
  EXPECT_EQ(upstream_part.pop_waiting(), nullptr);
}

TEST_F(worker_alone, an_unsupervised_worker_takes_its_calls_with_it) {
  upstream_part.use({});
  auto x = upstream_part.on_down(worker_target, actor_end::abnormal,
                                 "it is down");
  EXPECT_EQ(x.lost, worker_target);
  EXPECT_FALSE(x.fails_waiting || x.sends_waiting || x.quits);
  auto refused = upstream_part.take(call());
  ASSERT_EQ(refused.what, next_step::kind::ascend);
  EXPECT_TRUE(refused.result->is(errc::worker_down));
}

struct worker_in_group : worker_alone {
  worker_in_group() : worker_alone(true) {}
};

TEST_F(worker_in_group, giving_it_up_fails_waiting_calls_and_ends_the_host) {
  (void)upstream_part.supervise();
  auto x = upstream_part.follow_group(member_order::give_up, "too often");
  EXPECT_TRUE(x.fails_waiting);
  EXPECT_EQ(x.quits, "too often");
  EXPECT_FALSE(x.lost);
  EXPECT_TRUE(upstream_part.is_gone());
}

// Its order may have been on its way when the host learned that it has ended.
TEST_F(worker_in_group, a_group_that_has_ended_does_not_stop_it) {
  (void)upstream_part.supervise();
  (void)upstream_part.on_worker({.info = target_info{}});
  (void)upstream_part.leave_group();
  auto x = upstream_part.follow_group(member_order::stop,
                                      "another one is down");
  EXPECT_FALSE(x.lost || x.fails_waiting);
  EXPECT_EQ(upstream_part.take(call()).what, next_step::kind::send);
  (void)upstream_part.leave_group();
  EXPECT_EQ(upstream_part.take(call()).what, next_step::kind::send);
}

} // namespace
} // namespace caisson::detail
