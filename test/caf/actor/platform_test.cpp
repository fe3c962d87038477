// Facts about CAF that Caisson needs, a test each. Another CAF may fail some:
// that is their use.
#include "support/world.hpp"

#include <algorithm>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class platform_test : public world_test {};
CAISSON_ALL_ORDERS(platform_test);

// Holds what it is asked until it is asked to go on, or to end.
class idle_actor final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return {
      [this](int) {
        held_.push_back(make_response_promise<int>());
        return held_.back();
      },
      [](const std::string& x) -> std::string {
        if (x == "throw")
          throw std::runtime_error{x};
        return x;
      },
      [this](const drain&) {
        for (auto& p : held_)
          p.deliver(1);
        held_.clear();
      },
      [this](const release&) { quit(); },
    };
  }
  void on_exit() override { held_.clear(); }

private:
  std::vector<caf::typed_response_promise<int>> held_;
};

class platform_holder_test : public platform_test {
protected:
  caf::actor make_holder() {
    return own(caf::actor_cast<caf::actor>(world.system().spawn<idle_actor>()));
  }
};
CAISSON_ALL_ORDERS(platform_holder_test);

TEST_P(platform_holder_test, requests_to_the_dead_and_to_the_dying_bounce) {
  auto x = make_holder();
  world.user().send(x, release{});
  auto in_mailbox = world.user().request(x, 1);
  world.run_until_idle();
  EXPECT_EQ(in_mailbox.error(), caf::sec::request_receiver_down);
  EXPECT_EQ(world.request(x, 1).error(), caf::sec::request_receiver_down);
}

TEST_P(platform_holder_test,
       an_actor_is_marked_as_down_once_its_requests_bounce) {
  auto x = make_holder();
  world.user().send(x, release{});
  auto answer = world.user().request(x, 1);
  world.run_until_idle();
  ASSERT_TRUE(answer.ready());
  EXPECT_TRUE(portable::is_down(x));
}

#if CAISSON_CAF_LEGACY
TEST_P(platform_holder_test, a_promise_that_dies_with_its_actor_says_nothing) {
  auto x = make_holder();
  auto answer = world.request(x, 1);
  world.send(x, release{});
  EXPECT_FALSE(answer.ready());
}
#endif

TEST_P(platform_holder_test, an_exception_answers_and_ends_the_actor) {
  auto x = make_holder();
  auto answer = world.request(x, std::string{"throw"});
  EXPECT_EQ(answer.error(), caf::sec::runtime_error);
  EXPECT_TRUE(portable::is_down(x));
}

TEST_P(platform_holder_test, unexpected_message_has_the_code_that_we_know) {
  // Classifiers know it by number, without including CAF.
  EXPECT_EQ(static_cast<int>(caf::sec::unexpected_message), 1);
}

TEST_P(platform_test, urgent_messages_overtake) {
  std::string order;
  auto w = make_worker([&](const caf::message& msg) {
    order += msg.get_as<int>(0) < 10 ? 'n' : 'u';
    return std::optional{msg};
  });
  std::vector<pending_answer> answers;
  for (int i = 0; i < 3; ++i)
    answers.push_back(world.user().request(w.handle(), i));
  for (int i = 10; i < 13; ++i)
    answers.push_back(world.user().request_urgently(w.handle(), i));
  world.run_until_idle();
  EXPECT_EQ(order, "uuunnn");
  for (auto& a : answers)
    EXPECT_EQ(a.count(), 1u);
}

TEST_P(platform_test, watching_keeps_nobody_alive) {
  class watcher final : public portable::interceptor<> {
  public:
    watcher(caf::actor_config& cfg, caf::actor x)
      : portable::interceptor<>(cfg), x_(std::move(x)) {}
    caf::behavior make_behavior() override {
      auto result = portable::interceptor<>::make_behavior();
      watch(caf::actor_cast<caf::strong_actor_ptr>(x_));
      x_ = nullptr;
      return result;
    }

  protected:
    caf::message_handler control() override {
      return caf::message_handler{[](const drain&) {}};
    }
    void on_message(portable::reply_to, caf::message&&) override {}
    void on_answer(std::uint64_t, caf::message&&) override {}
    void on_timer() override {}
    void on_down(const caf::actor_addr&, const caf::error&) override {}

  private:
    caf::actor x_;
  };
  auto w = make_worker();
  auto before = world.actors();
  world.system().spawn<watcher>(w.handle());
  world.run_until_idle();
  EXPECT_EQ(world.actors(), before);
}

// The gate's timer: one per actor, replaced by the next one, gone with it.
class alarm final : public portable::interceptor<> {
public:
  alarm(caf::actor_config& cfg, std::vector<time_point>* fired)
    : portable::interceptor<>(cfg), fired_(fired) {}

protected:
  caf::message_handler control() override {
    return caf::message_handler{[](const drain&) {}};
  }
  void on_message(portable::reply_to, caf::message&& x) override {
    auto ns = x.get_as<std::int64_t>(0);
    set_timer(ns < 0 ? never : clock().now() + duration{ns});
  }
  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override { fired_->push_back(clock().now()); }
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  std::vector<time_point>* fired_;
};

TEST_P(platform_test, a_new_timer_replaces_the_old_one) {
  std::vector<time_point> fired;
  auto x = own(
    caf::actor_cast<caf::actor>(world.system().spawn<alarm>(&fired)));
  auto start = world.now();
  world.send(x, std::int64_t{100});
  world.send(x, std::int64_t{50});
  EXPECT_EQ(world.timers(), 1u);
  world.advance(1s);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0] - start, 50ns);
  world.send(x, std::int64_t{100});
  world.send(x, std::int64_t{-1});
  EXPECT_EQ(world.timers(), 0u);
#if CAISSON_CAF_LEGACY
  // On 1.x the actor has to take it back itself when it ends; gates do.
  world.send(x, std::int64_t{100});
  world.kill(x);
  EXPECT_EQ(world.timers(), 0u);
#endif
}

TEST_P(platform_test, handlers_see_the_instant_for_which_they_were_due) {
  std::vector<time_point> fired;
  auto a = own(
    caf::actor_cast<caf::actor>(world.system().spawn<alarm>(&fired)));
  auto b = own(
    caf::actor_cast<caf::actor>(world.system().spawn<alarm>(&fired)));
  auto start = world.now();
  world.send(a, std::int64_t{30});
  world.send(b, std::int64_t{20});
  world.advance(1s);
  ASSERT_EQ(fired.size(), 2u);
  EXPECT_EQ(fired[0] - start, 20ns);
  EXPECT_EQ(fired[1] - start, 30ns);
}

TEST_P(platform_test, a_typed_handle_can_be_cast_to_and_fro) {
  using doubler = caf::typed_actor<portable::sig<int(int)>>;
  auto w = make_worker(doubles());
  auto typed = caf::actor_cast<doubler>(w.handle());
  auto g = spawn_guard(world, typed, stack{});
  static_assert(std::is_same_v<decltype(g), doubler>);
  own(g);
  EXPECT_EQ(world.request(g, 4).value<int>(), 8);
}

TEST_P(platform_test, names_of_any_length_can_be_registered) {
  auto w = make_worker();
  for (std::string name : {"db", "a name that is longer than ten", "x-y/z"}) {
    publish_name(world, name, w.handle());
    EXPECT_EQ(find_name(world, name), w.handle()) << name;
    forget_name(world, name);
    EXPECT_FALSE(find_name(world, name)) << name;
  }
}

TEST_P(platform_test, errors_compare_by_code_and_keep_their_context) {
  auto plain = make_error(errc::breaker_open);
  auto full = make_error(errc::breaker_open, {"db", 3s, false, "why"});
  EXPECT_EQ(plain, errc::breaker_open);
  EXPECT_EQ(full, errc::breaker_open);
  EXPECT_EQ(context_of(plain), nullptr);
  ASSERT_NE(context_of(full), nullptr);
  EXPECT_EQ(context_of(full)->policy, "db");
  EXPECT_EQ(retry_after(full), 3s);
  auto text = portable::render(world.system(), full);
  EXPECT_NE(text.find("breaker_open"), std::string::npos) << text;
  EXPECT_NE(text.find("db"), std::string::npos) << text;
  EXPECT_EQ(
    outcome_of(caf::make_message(caf::make_error(caf::sec::bad_function_call)))
      .category,
    category_hash("system_error"));
}

// Gates pass on such an error of a worker as it is.
TEST_P(platform_test, an_error_with_a_context_of_another_kind_is_the_workers) {
  auto from_worker = [](const caf::error& err) {
    return outcome_of(caf::make_message(err)).from_worker;
  };
  auto plain = make_error(errc::rate_limited);
  auto text = caf::make_message(std::string{"mine"});
#if CAISSON_CAF_LEGACY
  caf::error own{plain.code(), plain.category(), std::move(text)};
#else
  caf::error own{errc::rate_limited, std::move(text)};
#endif
  EXPECT_TRUE(from_worker(own));
  EXPECT_TRUE(outcome_of(caf::make_message(own)).is(errc::rate_limited));
  EXPECT_FALSE(from_worker(plain));
  EXPECT_FALSE(from_worker(make_error(errc::rate_limited, rejection{"shop"})));
  EXPECT_TRUE(from_worker(
    make_error(errc::rate_limited, rejection{.from_worker = true})));
}

// -- messages cross the network -----------------------------------------------

template <class T>
T round_trip(caf::actor_system& sys, const T& x) {
  auto out = caf::make_message(x);
#if CAISSON_CAF_LEGACY
  std::vector<char> bytes;
  caf::binary_serializer sink{sys, bytes};
  EXPECT_FALSE(out.save(sink)) << "a type is not registered";
  caf::message in;
  caf::binary_deserializer source{sys, bytes};
  EXPECT_FALSE(in.load(source));
#else
  caf::byte_buffer bytes;
  caf::binary_serializer sink{sys, bytes};
  EXPECT_TRUE(sink.apply(out));
  caf::message in;
  caf::binary_deserializer source{sys, bytes};
  EXPECT_TRUE(source.apply(in));
#endif
  EXPECT_TRUE(portable::holds<T>(in));
  return in.get_as<T>(0);
}

TEST_P(platform_test, every_message_survives_the_network) {
  auto& sys = world.system();
  call c = wrap(7)
             .within(3s)
             .priority(-2)
             .user_priority(99)
             .permits(5)
             .idempotent()
             .key("k")
             .idempotency_key("once")
             .traceparent("00-what-it-is")
             .tracestate("rojo=1")
             .baggage("user=7");
  c.options.stands_for = 300;
  auto back = round_trip(sys, c);
  EXPECT_EQ(back.options.user_priority, 99);
  EXPECT_EQ(back.options.stands_for, 300);
  EXPECT_EQ(back.options.time_left, 3s);
  EXPECT_EQ(back.options.priority, -2);
  EXPECT_EQ(back.options.permits, 5u);
  EXPECT_EQ(back.options.idempotent, idempotence::yes);
  EXPECT_EQ(back.options.key, "k");
  EXPECT_EQ(back.options.idempotency_key, "once");
  EXPECT_EQ(back.options.traceparent, "00-what-it-is");
  EXPECT_EQ(back.options.propagated.tracestate(), "rojo=1");
  EXPECT_EQ(back.options.propagated.baggage(), "user=7");
  EXPECT_TRUE(round_trip(sys, wrap(7)).options.propagated.empty());
  EXPECT_EQ(back.payload.get_as<int>(0), 7);
  EXPECT_EQ(round_trip(sys, cancelled{9}).number, 9u);
  EXPECT_EQ(round_trip(sys, acquire{2, 3s, 1, "k"}).time_left, 3s);
  EXPECT_EQ(round_trip(sys, permit{5, unlimited}).expires, unlimited);
  EXPECT_TRUE(round_trip(sys, release{5, true}).failed);
  round_trip(sys, get_status{});
  round_trip(sys, subscribe{});
  round_trip(sys, unsubscribe{});
  round_trip(sys, drain{});
  EXPECT_EQ(round_trip(sys, reconfigure{"l", {{"a", "b"}}}).set.at("a"), "b");
  EXPECT_EQ(round_trip(sys, command{operator_command::reset, "l"}).layer, "l");
  event e;
  e.number = 3;
  e.delay = 5s;
  e.kind = event_kind::call_ended;
  e.trace_id = "1";
  e.span_id = "2";
  e.parent_span_id = "3";
  e.tracestate = "rojo=1";
  EXPECT_EQ(round_trip(sys, e).delay, 5s);
  EXPECT_EQ(round_trip(sys, e).kind, event_kind::call_ended);
  EXPECT_EQ(round_trip(sys, e).trace_id, "1");
  EXPECT_EQ(round_trip(sys, e).span_id, "2");
  EXPECT_EQ(round_trip(sys, e).parent_span_id, "3");
  EXPECT_EQ(round_trip(sys, e).tracestate, "rojo=1");
  status s;
  s.layers.push_back({"n", "k", mode::observe, "s", {{"x", -1}}, {{"y", "z"}}});
  s.worker = worker_state::given_up;
  EXPECT_EQ(round_trip(sys, s).layers.at(0).metrics.at("x"), -1);
  EXPECT_EQ(round_trip(sys, s).layers.at(0).mode, mode::observe);
  EXPECT_EQ(round_trip(sys, s).worker, worker_state::given_up);
  EXPECT_EQ(round_trip(sys, batch{{caf::make_message(1)}}).items.size(), 1u);
  EXPECT_EQ(round_trip(sys, batch_reply{{caf::make_message(1)}}).results.size(),
            1u);
  auto found = round_trip(sys, verification::done(7));
  EXPECT_EQ(found.what, effect::done);
  EXPECT_EQ(*portable::get_if<int>(found.result), 7);
  EXPECT_EQ(round_trip(sys, verification::not_done()).what, effect::not_done);
  EXPECT_EQ(round_trip(sys, verification::unknown()).what, effect::unknown);
  EXPECT_EQ(round_trip(sys, make_error(errc::shed, {"p", 1s, true, "t"})),
            errc::shed);
}

} // namespace
} // namespace caisson::test
