// Retriers among actors: verification, shared budgets, idempotency keys.
#include "support/both_hosts.hpp"
#include "support/stack_texts.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using reply = scripted_worker::reply;

// What a worker has done, and how often. It crashes with every fifth message
// after it has done it and before it answers, and with every seventh before.
struct ledger {
  std::map<int, int> done;
  random_source coin{4711};

  scripted_worker::script work() {
    return scripted_worker::on<int>([this](int x) {
      auto fate = coin.uniform();
      if (fate < 1.0 / 7)
        return reply::death();
      ++done[x];
      return fate < 1.0 / 7 + 0.2 ? reply::death() : reply::value(x * 2);
    });
  }

  scripted_worker::script verify() {
    return scripted_worker::on<int>([this](int x) {
      return done.contains(x) ? verification::done(x * 2)
                              : verification::not_done();
    });
  }

  // The most that was done with one call.
  [[nodiscard]] int most() const {
    int out = 0;
    for (auto& [x, n] : done)
      out = std::max(out, n);
    return out;
  }
};

retrier_config patient() {
  return {.max_attempts = 8,
          .backoff = schedule::constant(10ms),
          .budget = false,
          .verify_pause = 10ms};
}

supervision_config restarts() {
  return {.restart = schedule::constant(1ms),
          .max_restarts = 1'000,
          .period = 1us,
          .stable_after = 0s};
}

class verification_test : public both_hosts {
protected:
  // Sends the calls in bursts of `burst`; returns how many succeeded.
  int play(const caf::actor& g, int calls, int burst) {
    std::vector<pending_answer> answers;
    for (int x = 0; x < calls; ++x) {
      answers.push_back(world.user().request(g, x));
      if (x % burst == burst - 1)
        world.advance(1s);
    }
    world.advance(60s);
    int good = 0;
    for (int x = 0; x < calls; ++x) {
      auto& a = answers[static_cast<std::size_t>(x)];
      EXPECT_EQ(a.count(), 1u);
      good += a.ok() ? 1 : 0;
      if (a.ok()) {
        EXPECT_EQ(a.value<int>(), x * 2);
      }
    }
    return good;
  }

  ledger book;
};
CAISSON_BOTH_HOSTS(verification_test, 4);

TEST_P(verification_test, no_effect_twice_and_nearly_all_succeed) {
  constexpr int calls = 1'000;
  for (bool verified : {false, true}) {
    book = ledger{};
    auto w = make_worker(book.work());
    auto verifying_worker = make_worker(book.verify());
    auto how = verified ? verifier::by(verifying_worker.handle()) : verifier{};
    auto g = host(worker::supervised(w.factory(), restarts()),
                  stack{}.retrier(patient(), how));
    auto good = play(g, calls, 5);
    EXPECT_EQ(book.most(), 1);
    // Without it, every crash ends the calls that were with the worker.
    EXPECT_GE(good, verified ? 990 : 0);
    EXPECT_LE(good, verified ? calls : 700);
    EXPECT_EQ(metric_of(g, "retrier", "verifications") > 0, verified);
    EXPECT_EQ(metric_of(g, "retrier", "verifying"), 0);
    RecordProperty(verified ? "verified" : "not_verified", good);
  }
}

TEST_P(verification_test, a_function_will_do) {
  struct {
    verifier::function verify;
    bool ok;
    std::size_t attempts;
  } const table[] = {
    {[](auto&) { return verification::done(7); }, true, 1},
    {[](auto&) { return verification::not_done(); }, false, 9},
    {[](auto&) { return verification::unknown(); }, false, 1},
    {[](auto&) -> verification { throw std::runtime_error{"boom"}; }, false, 1},
    {[](auto& content) {
       return verification::done(content.template get_as<int>(0));
     },
     true, 1},
  };
  for (auto& row : table) {
    auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
    auto c = patient();
    c.max_attempts = 9;
    auto g = host(w.handle(), stack{}.retrier(c, verifier::with(row.verify)));
    auto answer = world.request(g, 7);
    world.advance(10min);
    EXPECT_EQ(w.count(), row.attempts);
    EXPECT_EQ(answer.ok(), row.ok);
    if (row.ok) {
      EXPECT_EQ(answer.value<int>(), 7);
    }
  }
}

TEST_P(verification_test, what_nobody_knows_is_not_repeated) {
  auto w = make_worker([](const caf::message&) {
    return caf::make_message(make_error(caf::sec::runtime_error));
  });
  auto verifying_worker = make_worker(
    scripted_worker::always(verification::unknown()));
  auto g = host(
    w.handle(),
    stack{}.retrier(patient(), verifier::by(verifying_worker.handle())));
  auto answer = world.request(g, 1);
  EXPECT_FALSE(answer.ready());
  world.advance(30ms);
  EXPECT_EQ(answer.error(), caf::sec::runtime_error);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(verifying_worker.count(), 3u);
  EXPECT_EQ(metric_of(g, "retrier", "not_verified"), 1);
}

TEST_P(verification_test,
       failed_verification_does_not_hide_who_ended_the_attempt) {
  auto verifying_worker = make_worker(
    scripted_worker::always(verification::unknown()));
  auto name_in = [&](scripted_worker& w, bool limited) {
    auto layers = stack{"shop"}.retrier(
      patient(), verifier::by(verifying_worker.handle()));
    if (limited)
      layers.deadline({.name = "attempt"});
    auto g = host(w.handle(), layers);
    auto answer = world.request(g, 1);
    world.advance(3s);
    auto err = answer.error();
    auto* context = context_of(err);
    return context ? context->policy : std::string{};
  };
  auto mute = make_worker();
  EXPECT_EQ(name_in(mute, true), "attempt");
  EXPECT_EQ(verifying_worker.count(), 3u);
  auto mortal = make_worker([](const caf::message&) { return reply::death(); });
  EXPECT_EQ(name_in(mortal, false), "shop");
}

TEST_P(verification_test, any_other_answer_is_unknown) {
  for (auto& script :
       {scripted_worker::always(5), scripted_worker::always(errc::shed),
        scripted_worker::always()}) {
    auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
    auto verifying_worker = make_worker(script);
    auto g = host(
      w.handle(),
      stack{}.retrier(patient(), verifier::by(verifying_worker.handle())));
    auto answer = world.request(g, 1);
    world.advance(1s);
    EXPECT_EQ(answer.error(), caf::sec::runtime_error);
    EXPECT_EQ(w.count(), 1u);
  }
}

TEST_P(verification_test, a_verifier_that_is_down_or_silent_is_unknown) {
  for (bool alive : {false, true}) {
    auto w = make_worker([](const caf::message&) { return reply::death(); });
    auto verifying_worker = make_worker();
    auto g = host(
      w.handle(),
      stack{}.retrier(patient(), verifier::by(verifying_worker.handle())));
    if (!alive)
      verifying_worker.kill();
    auto answer = world.request(g, 1);
    world.advance(alive ? 3s + 30ms - 1ns : 29ms);
    EXPECT_FALSE(answer.ready());
    world.advance(1ms);
    EXPECT_TRUE(answer.is(errc::worker_down));
    auto* context = context_of(answer.error());
    EXPECT_TRUE(context->may_have_executed);
    EXPECT_EQ(metric_of(g, "retrier", "not_verified"), 1);
  }
}

// Whoever ended the verifications, the attempt was ended by its limit.
TEST_P(verification_test, verification_never_outlives_the_deadline) {
  auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
  auto verifying_worker = make_worker();
  auto g = host(
    w.handle(),
    stack{}.retrier(patient(), verifier::by(verifying_worker.handle())));
  auto answer = world.request(g, wrap(1).within(300ms));
  world.advance(300ms);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_TRUE(context_of(answer.error())->may_have_executed);
  verifying_worker.answer(verification::not_done());
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(g, "retrier", "abandoned"), 1);
  EXPECT_EQ(metric_of(g, "retrier", "verifying"), 0);
}

TEST_P(verification_test, the_answer_that_it_knows_may_be_an_error) {
  auto w = make_worker([](const caf::message&) { return reply::silence(); });
  auto verifying_worker = make_worker(scripted_worker::always(
    verification::done(make_error(caf::sec::end_of_stream))));
  auto g = host(w.handle(),
                stack{}
                  .retrier(patient(), verifier::by(verifying_worker.handle()))
                  .deadline({.timeout = 50ms}));
  auto answer = world.request(g, 1);
  world.advance(50ms);
  EXPECT_EQ(answer.error(), caf::sec::end_of_stream);
  EXPECT_EQ(metric_of(g, "retrier", "found_done"), 1);
}

TEST_P(verification_test, in_observe_mode_nobody_is_asked) {
  auto c = patient();
  c.mode = mode::observe;
  auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
  auto verifying_worker = make_worker();
  auto g = host(w.handle(),
                stack{}.retrier(c, verifier::by(verifying_worker.handle())));
  EXPECT_EQ(world.request(g, 1).error(), caf::sec::runtime_error);
  EXPECT_EQ(verifying_worker.count(), 0u);
  EXPECT_EQ(metric_of(g, "retrier", "verifying"), 0);
}

TEST_P(verification_test, toml_names_the_verifier) {
  auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
  auto verifying_worker = make_worker(
    scripted_worker::always(verification::done(7)));
  publish_name(world, "ledger", verifying_worker.handle());
  auto g = host(w.handle(), only_stack("[[stack.s.layer]]\n"
                                       "kind = 'retrier'\n"
                                       "verify = 'ledger'\n",
                                       &world.system())
                              .policies);
  EXPECT_EQ(world.request(g, 1).value<int>(), 7);
  forget_name(world, "ledger");
}

class verification_gate_test : public world_test {};
CAISSON_ALL_ORDERS(verification_gate_test);

TEST_P(verification_gate_test, requests_for_permits_pass_it) {
  auto verifying_worker = make_worker();
  auto w = make_worker();
  auto g = gate(w.handle(),
                stack{}
                  .retrier(patient(), verifier::by(verifying_worker.handle()))
                  .semaphore({.permits = 1}));
  auto lent = world.request(g, acquire{}).value<permit>();
  EXPECT_TRUE(world.request(g, release{lent.id, true}).ok());
  EXPECT_EQ(verifying_worker.count(), 0u);
}

TEST(verification, nobody_to_ask_is_a_problem) {
  virtual_time world;
  auto s = stack{"s"}.retrier({}, verifier::by({}));
  ASSERT_EQ(s.check().size(), 1u);
  EXPECT_EQ(to_text(s.check()),
            "retrier.verify: the handle of the verifier is null, or the "
            "function empty");
  EXPECT_EQ(complaint("[[stack.s.layer]]\n"
                      "kind = 'retrier'\n"
                      "verify = 'nobody'\n",
                      &world.system()),
            "f:3:10: stack.s.layer[0].verify: no actor is registered as "
            "\"nobody\"");
}

// -- shared budgets -----------------------------------------------------------

class shared_budget_test : public both_hosts {
protected:
  static stack sharing(std::string name) {
    return stack{}.retrier({.backoff = schedule::constant(1ms),
                            .idempotent = true,
                            .budget_ratio = 0,
                            .budget_reserve = 1,
                            .budget_name = std::move(name)});
  }

  std::int64_t left(const caf::actor& g) {
    return metric_of(g, "retrier", "budget_left");
  }

  scripted_worker w = make_worker(
    scripted_worker::always(caf::sec::runtime_error));
};
CAISSON_BOTH_HOSTS(shared_budget_test, 8);

TEST_P(shared_budget_test, hosts_in_one_system_share_it_by_name) {
  auto a = host(w.handle(), sharing("payments"));
  auto b = host(w.handle(), sharing("payments"));
  auto other = host(w.handle(), sharing("search"));
  auto own = host(w.handle(), sharing(""));
  world.request(a, 1);
  world.advance(1s);
  for (auto& [g, n] : {std::pair{a, 8}, {b, 8}, {other, 10}, {own, 10}})
    EXPECT_EQ(left(g), n);
}

TEST_P(shared_budget_test, another_system_has_its_own) {
  virtual_time elsewhere;
  auto a = host(w.handle(), sharing("payments"));
  world.request(a, 1);
  world.advance(1s);
  scripted_worker v{elsewhere};
  auto b = spawn_gate(elsewhere, v.handle(), sharing("payments"));
  EXPECT_EQ(elsewhere.request(b, get_status{})
              .value<status>()
              .metric("retrier", "budget_left"),
            10);
  elsewhere.kill(b);
  elsewhere.kill(v.handle());
}

TEST_P(shared_budget_test, a_new_name_is_another_budget) {
  auto a = host(w.handle(), sharing("payments"));
  auto b = host(w.handle(), sharing("search"));
  world.request(a, 1);
  world.advance(1s);
  EXPECT_EQ(left(b), 10);
  world.request(b, reconfigure{"", {{"budget_name", "payments"}}});
  EXPECT_EQ(left(b), 8);
  world.request(b, reconfigure{"", {{"budget_reserve", "3"}}});
  EXPECT_EQ(left(a), 30);
}

TEST_P(shared_budget_test, whoever_leaves_one_does_not_change_it) {
  auto a = gate(w.handle(), sharing("payments"));
  auto b = gate(w.handle(), sharing("payments"));
  world.request(b, 1);
  world.advance(1s);
  EXPECT_EQ(left(b), 8);
  world.request(
    a, reconfigure{"", {{"budget_name", "search"}, {"budget_reserve", "3"}}});
  EXPECT_EQ(left(a), 30);
  EXPECT_EQ(left(b), 8);
  world.request(a, reconfigure{"", {{"budget_name", "payments"}}});
  world.request(
    a, reconfigure{"", {{"budget_name", ""}, {"budget_reserve", "5"}}});
  EXPECT_EQ(left(a), 50);
  EXPECT_EQ(left(b), 8);
}

TEST_P(shared_budget_test, whoever_only_observes_spends_nothing_of_it) {
  auto a = gate(w.handle(), sharing("payments"));
  auto b = gate(w.handle(), sharing("payments"));
  world.request(a, command{operator_command::observe, "retrier"});
  world.request(a, 1);
  world.advance(1s);
  EXPECT_EQ(left(b), 10);
  world.request(a, command{operator_command::enable, "retrier"});
  EXPECT_EQ(left(a), 10);
  world.request(a, 1);
  world.advance(1s);
  EXPECT_EQ(left(b), 8);
}

// -- idempotency keys ---------------------------------------------------------

class idempotency_key_test : public both_hosts {};
CAISSON_BOTH_HOSTS(idempotency_key_test, 8);

TEST_P(idempotency_key_test, is_the_same_for_all_attempts_through_all_hosts) {
  auto w = make_worker(scripted_worker::always(caf::sec::runtime_error));
  auto inner = gate(worker{w.handle()}.takes_calls(),
                    stack{"inner"}.retrier({.max_attempts = 2,
                                            .backoff = schedule::constant(1ms),
                                            .idempotent = true,
                                            .idempotency_keys = true}));
  auto outer = host(inner,
                    stack{"outer"}.retrier({.max_attempts = 2,
                                            .backoff = schedule::constant(1ms),
                                            .idempotent = true,
                                            .idempotency_keys = true}));
  world.request(outer, 1);
  world.advance(1s);
  world.request(outer, wrap(2).idempotency_key("order 7"));
  world.advance(1s);
  std::map<int, std::set<std::string>> keys;
  for (auto& x : w.received())
    keys[x.as<int>()].insert(x.options().idempotency_key);
  EXPECT_EQ(w.count(), 8u);
  ASSERT_EQ(keys[1].size(), 1u);
  EXPECT_EQ(keys[1].begin()->size(), 32u);
  EXPECT_EQ(keys[2], std::set<std::string>{"order 7"});
}

// The keys that two gates with the same seed give in a new world.
std::vector<std::string> keys_of_a_run(host_kind kind) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  std::vector<caf::actor> gates;
  for (int i = 0; i < 2; ++i) {
    auto s = stack{gate_config{.seed = 3}}.retrier({.idempotency_keys = true});
    gates.push_back(
      spawn_host(kind, world, worker{w.handle()}.takes_calls(), std::move(s)));
    world.request(gates.back(), 1);
    world.request(gates.back(), 2);
  }
  std::vector<std::string> out;
  for (auto& x : w.received())
    out.push_back(x.options().idempotency_key);
  for (auto& x : gates)
    world.kill(x);
  return out;
}

TEST(idempotency_keys, are_the_same_in_each_run_and_differ_between_gates) {
  for (auto kind : {host_kind::gate, host_kind::local}) {
    auto keys = keys_of_a_run(kind);
    EXPECT_EQ(keys.size(), 4u);
    EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), 4u);
    EXPECT_EQ(keys_of_a_run(kind), keys);
  }
}

} // namespace
} // namespace caisson::test
