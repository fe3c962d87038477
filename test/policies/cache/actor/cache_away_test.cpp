// Layers before a worker whose server does not answer: with errors of the kind
// that workers on a pool of threads have.
#include <caisson/engine/transport_errc.hpp>
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/away.hpp>
#include <support/world.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using enum transport_errc;

constexpr transport_errc without_answer[] = {not_connected, lost, timed_out,
                                             garbled,       busy, stopped};

/// A text and a number set what the text as a message reads.
cache_forms forms_by_name() {
  auto forms = cache_forms::keyed_by<std::string>(
    [](const std::string& name) { return name; });
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    if (!x.match_elements<std::string, std::int32_t>())
      return std::nullopt;
    return cached_write{x.get_as<std::string>(0),
                        caf::make_message(x.get_as<std::int32_t>(1)),
                        caf::make_message(true)};
  };
  return forms;
}

struct cache_away : testing::Test {
  cache_away() { init_transport_types(); }

  ~cache_away() override {
    // From the outside in.
    for (auto i = gates.rbegin(); i != gates.rend(); ++i)
      world->kill(*i);
    world->kill(pool->handle());
  }

  /// A worker that has this error for all messages as long as there is one.
  void start() {
    world.emplace();
    pool.emplace(*world, [this](const caf::message& x) {
      ++asked;
      if (failure)
        return scripted_worker::reply::error(make_error(*failure));
      if (x.match_elements<std::string, std::int32_t>())
        stored = x.get_as<std::int32_t>(1);
      return scripted_worker::reply::value(stored);
    });
  }

  worker with_threads() const {
    return worker{pool->handle()}.classified_by(transport_answer);
  }

  caf::actor gate(worker behind, stack s) {
    gates.push_back(spawn_gate(*world, std::move(behind), std::move(s)));
    return gates.back();
  }

  pending_answer get(const caf::actor& g, std::string name = "k") {
    return world->request(g, std::move(name));
  }

  std::int64_t count(const caf::actor& g, const std::string& layer,
                     const std::string& name) {
    return world->request(g, get_status{})
      .template value<status>()
      .metric(layer, name);
  }

  std::optional<virtual_time> world;
  std::optional<scripted_worker> pool;
  std::optional<transport_errc> failure;
  std::vector<caf::actor> gates;
  std::int32_t stored = 0;
  int asked = 0;
};

// -- write-back ---------------------------------------------------------------

struct long_away : cache_away, testing::WithParamInterface<transport_errc> {
  void is_away_for_two_minutes(const caf::actor& g) {
    failure = GetParam();
    EXPECT_TRUE(world->request(g, std::string{"k"}, std::int32_t{42}).ok());
    world->advance(2min);
    EXPECT_EQ(count(g, "cache", "lost"), 0);
    EXPECT_EQ(count(g, "cache", "unwritten"), 1);
    EXPECT_GT(asked, 10);
    EXPECT_LE(asked, failures_in_two_minutes);
    EXPECT_EQ(get(g).value<std::int32_t>(), 42);
    failure.reset();
    world->advance(10s);
    EXPECT_EQ(stored, 42);
    EXPECT_EQ(count(g, "cache", "unwritten"), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(errors, long_away, testing::ValuesIn(without_answer),
                         [](const auto& x) {
                           return std::string{name_of(x.param)};
                         });

TEST_P(long_away, nothing_acknowledged_is_lost) {
  start();
  is_away_for_two_minutes(
    gate(with_threads(), stack{}.cache({.flush_after = 0s}, forms_by_name())));
}

TEST_P(long_away, nor_behind_another_gate) {
  start();
  auto inner = gate(with_threads(), stack{"inner"});
  is_away_for_two_minutes(
    gate(worker{inner}, stack{}.cache({.flush_after = 0s}, forms_by_name())));
}

TEST_P(long_away, nor_by_an_actor_that_passes_the_error_on) {
  start();
  is_away_for_two_minutes(
    gate(worker{pool->handle()},
         stack{}.cache({.flush_after = 0s}, forms_by_name())));
}

TEST_F(cache_away, a_write_that_cannot_be_sent_is_given_up) {
  start();
  for (auto why : {bad_request, too_large}) {
    auto g = gate(with_threads(),
                  stack{}.cache({.flush_after = 0s}, forms_by_name()));
    failure = why;
    world->request(g, std::string{"k"}, std::int32_t{42});
    world->advance(1s);
    EXPECT_EQ(count(g, "cache", "lost"), 1) << name_of(why);
  }
}

// -- reads --------------------------------------------------------------------

TEST_F(cache_away, an_error_without_an_answer_is_no_answer_of_a_key) {
  start();
  auto g = gate(with_threads(),
                stack{}.cache({.negative_ttl = 1h}, forms_by_name()));
  for (auto why : without_answer) {
    failure = why;
    EXPECT_FALSE(get(g).ok());
    failure.reset();
    EXPECT_TRUE(get(g, std::string{name_of(why)}).ok());
    EXPECT_TRUE(get(g).ok());
    EXPECT_TRUE(world->request(g, command{operator_command::reset, {}}).ok());
  }
  failure = bad_request;
  EXPECT_FALSE(get(g).ok());
  failure.reset();
  EXPECT_FALSE(get(g).ok()) << "that would be answered so again";
}

TEST_F(cache_away, a_patient_read_waits_for_another_load) {
  start();
  auto inner = gate(with_threads(), stack{"inner"});
  for (const auto& behind : {with_threads(), worker{inner}}) {
    auto g = gate(behind, stack{}.cache({}, forms_by_name()));
    for (auto why : {timed_out, busy}) {
      pool->plan(scripted_worker::reply::error(make_error(why)).after(50ms));
      auto a = world->request(g, wrap(std::string{name_of(why)}).within(50ms));
      auto b = world->request(g, wrap(std::string{name_of(why)}).within(5s));
      auto c = world->request(g, wrap(std::string{name_of(why)}).within(4s));
      auto before = asked;
      world->advance(1s);
      EXPECT_FALSE(a.ok());
      EXPECT_TRUE(b.ok()) << name_of(why);
      EXPECT_TRUE(c.ok());
      EXPECT_EQ(asked - before, 1);
    }
  }
}

// -- other layers -------------------------------------------------------------

TEST_F(cache_away, what_other_layers_make_of_it) {
  struct {
    transport_errc why;
    bool opens_breaker;
    bool falls_back;
    bool old_value_stands_in;
  } const rows[] = {
    {not_connected, true, true, true}, {lost, true, true, true},
    {timed_out, true, true, true},     {garbled, true, true, true},
    {stopped, true, true, true},       {busy, false, true, true},
    {too_large, false, false, false},  {bad_request, false, false, false},
  };
  start();
  for (const auto& row : rows) {
    failure.reset();
    auto b = gate(with_threads(), stack{}.breaker({.threshold = 1}));
    auto f = gate(with_threads(),
                  stack{}.fallback({alternative::answer(std::int32_t{7})}));
    auto c = gate(
      with_threads(),
      stack{}.cache({.ttl = 1s, .stale_if_error = 1h}, forms_by_name()));
    get(c);
    world->advance(1s);
    failure = row.why;
    get(b);
    EXPECT_EQ(get(b).is(errc::breaker_open), row.opens_breaker)
      << name_of(row.why);
    EXPECT_EQ(get(f).ok(), row.falls_back) << name_of(row.why);
    EXPECT_EQ(get(c).ok(), row.old_value_stands_in) << name_of(row.why);
  }
}

} // namespace
} // namespace caisson::test
