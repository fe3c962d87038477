// Reads stacks from TOML and compares them with those made in code.
#include <support/source_dir.hpp>
#include <support/stack_texts.hpp>

#include <caisson/engine/layer.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- the same as from code ----------------------------------------------------

struct twin {
  std::string layer;
  stack (*from_code)();
};

// Prints which one failed.
void PrintTo(const twin& x, std::ostream* out) {
  *out << x.layer;
}

const twin layer_twins[] = {
  {"kind = 'deadline'\n"
   "name = 'overall'\n"
   "mode = 'observe'\n"
   "timeout = '2s'\n"
   "min_left = '5ms'\n"
   "share = 0.25\n"
   "least = '10ms'\n"
   "reserve = '20ms'\n",
   [] {
     return stack{"s"}.deadline({.name = "overall",
                                 .mode = mode::observe,
                                 .timeout = 2s,
                                 .min_left = 5ms,
                                 .share = 0.25,
                                 .least = 10ms,
                                 .reserve = 20ms});
   }},
  {"kind = 'semaphore'\n"
   "permits = 3\n"
   "max_waiters = 7\n"
   "max_wait = '1s'\n"
   "order = 'lifo'\n",
   [] {
     return stack{"s"}.semaphore({.permits = 3,
                                  .max_waiters = 7,
                                  .max_wait = 1s,
                                  .order = wait_order::lifo});
   }},
  {"kind = 'limiter'\n"
   "rate = 50\n"
   "per = '1min'\n"
   "burst = 5\n"
   "max_wait = '200ms'\n"
   "max_waiters = 2\n"
   "drain_on_rejection = false\n"
   "retry_after_cap = '5min'\n",
   [] {
     return stack{"s"}.limiter({.rate = 50,
                                .per = 1min,
                                .burst = 5,
                                .max_wait = 200ms,
                                .max_waiters = 2,
                                .drain_on_rejection = false,
                                .retry_after_cap = 5min});
   }},
  {"kind = 'breaker'\n"
   "trip = 'rate_by_time'\n"
   "failure_rate = 0.25\n"
   "open = '10s'\n"
   "probes = 4\n"
   "ignore = ['app:3']\n",
   [] {
     return stack{"s"}.breaker({.trip = breaker_trip::rate_by_time,
                                .failure_rate = 0.25,
                                .open = schedule::constant(10s),
                                .probes = 4,
                                .classify = {.deny = {"app:3"}}});
   }},
  {"kind = 'retrier'\n"
   "max_attempts = 4\n"
   "backoff = { kind = 'fibonacci', base = '10ms', max = '1s' }\n"
   "idempotent = true\n"
   "retry_on = ['worker_down']\n"
   "budget = false\n",
   [] {
     return stack{"s"}.retrier({.max_attempts = 4,
                                .backoff = schedule::fibonacci(10ms).limit(1s),
                                .idempotent = true,
                                .classify = {.allow = {"worker_down"}},
                                .budget = false});
   }},
  {"kind = 'batcher'\n"
   "max_items = 20\n"
   "max_weight = 4000\n"
   "max_delay = '1s'\n"
   "adaptive = true\n"
   "min_items = 2\n"
   "min_delay = '1ms'\n"
   "rate_window = '5s'\n"
   "when_blocked = 'reject'\n",
   [] {
     return stack{"s"}.batcher({.max_items = 20,
                                .max_weight = 4000,
                                .max_delay = 1s,
                                .adaptive = true,
                                .min_items = 2,
                                .min_delay = 1ms,
                                .rate_window = 5s,
                                .when_blocked = blocked_items::reject});
   }},
  {"kind = 'fallback'\n"
   "max_concurrent = 0\n"
   "fall_back_on = ['shed']\n"
   "alternatives = [{ value = 'sorry' }]\n",
   [] {
     return stack{"s"}.fallback(
       {alternative::answer(std::string{"sorry"})},
       {.max_concurrent = 0, .classify = {.allow = {"shed"}}});
   }},
};

class stack_toml_twin : public testing::TestWithParam<twin> {};

TEST_P(stack_toml_twin, gives_the_layer_that_code_gives) {
  auto read = only_stack("[[stack.s.layer]]\n" + GetParam().layer);
  EXPECT_EQ(rows_in(read.policies), rows_in(GetParam().from_code()));
}

INSTANTIATE_TEST_SUITE_P(layers, stack_toml_twin,
                         testing::ValuesIn(layer_twins));

// -- whole stacks -------------------------------------------------------------

TEST(stack_toml, gives_the_whole_stack_that_code_gives) {
  auto read = only_stack(R"(
    [stack.payments]
    default_deadline = "5s"
    max_calls = 100
    seed = 42
    [[stack.payments.layer]]
    kind = "deadline"
    name = "overall"
    [[stack.payments.layer]]
    kind = "retrier"
    idempotent = true
    [[stack.payments.layer]]
    kind = "deadline"
    timeout = "200ms"
    [[stack.payments.layer]]
    kind = "breaker"
    mode = "off"
  )");
  gate_config gate{
    .name = "payments", .default_deadline = 5s, .max_calls = 100, .seed = 42};
  auto code = stack{gate}
                .deadline({.name = "overall"})
                .retrier({.idempotent = true})
                .deadline({.timeout = 200ms})
                .breaker({.mode = mode::off});
  EXPECT_EQ(rows_in(read.policies), rows_in(code));
  EXPECT_EQ(read.policies.check(), problems{});
}

TEST(stack_toml, applies_the_mode_of_a_layer) {
  auto layers = only_stack("[[stack.s.layer]]\n"
                           "kind = 'limiter'\n"
                           "mode = 'observe'\n"
                           "[[stack.s.layer]]\n"
                           "kind = 'breaker'\n")
                  .policies.build();
  EXPECT_EQ(layers.at(0)->active(), mode::observe);
  EXPECT_EQ(layers.at(1)->active(), mode::enforce);
}

// -- stacks -------------------------------------------------------------------

TEST(stack_toml, without_fields_has_the_defaults) {
  auto read = only_stack("[stack.s]\n");
  EXPECT_EQ(rows_in(read.policies), rows_in(stack{"s"}));
  EXPECT_EQ(texts_of(rows_of(read.supervision)),
            texts_of(rows_of(supervision_config{})));
}

TEST(stack_toml, is_called_after_its_key_unless_it_has_a_name) {
  EXPECT_EQ(only_stack("[stack.payments]").policies.config().name, "payments");
  EXPECT_EQ(only_stack("[stack.payments]\nname = 'p'").policies.config().name,
            "p");
}

TEST(stack_toml, names_layers_without_a_name_as_code_does) {
  auto read = only_stack("[[stack.s.layer]]\nkind = 'breaker'\n"
                         "[[stack.s.layer]]\nkind = 'breaker'\nname = ''\n"
                         "[[stack.s.layer]]\nkind = 'retrier'\nname = 'x'\n"
                         "[[stack.s.layer]]\nkind = 'breaker'\n");
  EXPECT_EQ(
    read.policies.names(),
    (std::vector<std::string>{"breaker", "breaker-2", "x", "breaker-3"}));
}

TEST(stack_toml, reads_how_its_worker_is_supervised) {
  auto read = only_stack("[stack.s.worker]\n"
                         "restart = { base = '20ms' }\n"
                         "max_restarts = 2\n"
                         "period = '1min'\n"
                         "stable_after = '3s'\n"
                         "max_waiting = 0\n"
                         "on_give_up = 'refuse'\n"
                         "lifetime = 'transient'\n"
                         "shutdown = '2s'\n");
  supervision_config code{.lifetime = worker_lifetime::transient,
                          .restart = schedule::exponential(20ms).limit(10s),
                          .max_restarts = 2,
                          .period = 1min,
                          .stable_after = 3s,
                          .max_waiting = 0,
                          .on_give_up = give_up_action::refuse,
                          .shutdown = 2s};
  EXPECT_EQ(texts_of(rows_of(read.supervision)), texts_of(rows_of(code)));
}

TEST(stack_toml, may_be_written_in_any_notation_of_toml) {
  auto usual = only_stack("[stack.s]\n"
                          "seed = 3\n"
                          "[[stack.s.layer]]\n"
                          "kind = 'limiter'\n"
                          "[stack.s.worker]\n"
                          "max_restarts = 1\n");
  auto compact = only_stack("stack.s = { seed = 3, "
                            "layer = [{ kind = 'limiter' }], "
                            "worker.max_restarts = 1 }\n");
  EXPECT_EQ(rows_in(usual.policies), rows_in(compact.policies));
  EXPECT_EQ(usual.supervision.max_restarts, compact.supervision.max_restarts);
}

TEST(stack_toml, stands_beside_others) {
  auto file = read("[[stack.a.layer]]\nkind = 'limiter'\n"
                   "[[stack.b.layer]]\nkind = 'breaker'\n"
                   "[stack.a.worker]\nmax_restarts = 1\n");
  ASSERT_EQ(file.stacks.size(), 2u);
  const auto& a = file.stacks.at("a");
  const auto& b = file.stacks.at("b");
  EXPECT_EQ(a.policies.names(), std::vector<std::string>{"limiter"});
  EXPECT_EQ(b.policies.names(), std::vector<std::string>{"breaker"});
  EXPECT_EQ(a.supervision.max_restarts, 1u);
  EXPECT_EQ(b.supervision.max_restarts, supervision_config{}.max_restarts);
}

TEST(stack_toml, has_up_to_32_layers) {
  std::string text;
  for (int i = 0; i < 32; ++i)
    text += "[[stack.s.layer]]\nkind = 'limiter'\n";
  EXPECT_EQ(only_stack(text).policies.size(), 32u);
}

// -- answers of a fallback ----------------------------------------------------

// The alternatives of a fallback, read from a list in TOML.
class answers {
public:
  explicit answers(const std::string& list)
    : layers_(only_stack("[[stack.s.layer]]\nkind = 'fallback'\n"
                         "alternatives = "
                         + list)
                .policies.build()) {}

  template <class T>
  [[nodiscard]] std::optional<T> at(std::size_t index) const {
    auto answer = layers_.at(0)->value(index);
    auto* value = portable::get_if<T>(answer);
    return value ? std::optional<T>{*value} : std::nullopt;
  }

  [[nodiscard]] std::size_t size() const {
    return layers_.at(0)->targets().size();
  }

private:
  std::vector<std::unique_ptr<layer>> layers_;
};

TEST(stack_toml_answer, has_the_type_of_its_value) {
  answers x{"[{ value = 'text' }, { value = -5 }, { value = true }]"};
  EXPECT_EQ(x.at<std::string>(0), "text");
  EXPECT_EQ(x.at<std::int64_t>(1), -5);
  EXPECT_EQ(x.at<bool>(2), true);
  EXPECT_EQ(x.size(), 3u);
}

TEST(stack_toml_answer, has_the_type_that_is_stated) {
  answers x{"[{ value = '', type = 'string' }, { value = 7, type = 'int64' }, "
            "{ value = 7, type = 'int32' }, { value = false, type = 'bool' }]"};
  EXPECT_EQ(x.at<std::string>(0), "");
  EXPECT_EQ(x.at<std::int64_t>(1), 7);
  EXPECT_EQ(x.at<std::int32_t>(2), 7);
  EXPECT_EQ(x.at<bool>(3), false);
  EXPECT_EQ(x.at<std::int64_t>(2), std::nullopt);
}

TEST(stack_toml_answer, may_be_any_integer_of_its_type) {
  answers x{"[{ value = -9223372036854775808 }, "
            "{ value = 9223372036854775807 }, "
            "{ value = -2147483648, type = 'int32' }, "
            "{ value = 2147483647, type = 'int32' }]"};
  using limits_64 = std::numeric_limits<std::int64_t>;
  using limits_32 = std::numeric_limits<std::int32_t>;
  EXPECT_EQ(x.at<std::int64_t>(0), limits_64::min());
  EXPECT_EQ(x.at<std::int64_t>(1), limits_64::max());
  EXPECT_EQ(x.at<std::int32_t>(2), limits_32::min());
  EXPECT_EQ(x.at<std::int32_t>(3), limits_32::max());
}

// -- within another file ------------------------------------------------------

TEST(stack_toml, leaves_other_keys_of_a_file_to_the_caller) {
  auto file = read("title = 'a scenario'\n"
                   "[stack.s]\n"
                   "[service.db]\n"
                   "workers = 3\n");
  EXPECT_EQ(file.stacks.size(), 1u);
}

TEST(stack_toml, need_not_be_in_a_file) {
  EXPECT_TRUE(read("").stacks.empty());
  EXPECT_TRUE(read("[stack]").stacks.empty());
  EXPECT_TRUE(read("title = 'no stacks'").stacks.empty());
}

TEST(stack_toml, can_be_read_from_under_another_key) {
  auto root = parsed("[arm.a.edge]\nseed = 4\n"
                     "[[arm.a.edge.layer]]\nkind = 'limiter'\n");
  const auto& arm = std::get<settings>(root.at("arm").value);
  const auto& a = std::get<settings>(arm.at("a").value);
  const auto& edge = std::get<settings>(a.at("edge").value);
  problems found;
  auto entry = stack_from(edge, "web-db", "arm.a.edge", "f:1:1", found);
  EXPECT_EQ(to_text(found), "");
  ASSERT_TRUE(entry);
  EXPECT_EQ(rows_in(entry->policies),
            rows_in(stack{gate_config{.name = "web-db", .seed = 4}}.limiter()));
}

// -- files --------------------------------------------------------------------

TEST(stack_toml_file, with_the_examples_can_be_loaded) {
  auto file = load_stacks(source_path("demos/examples/stacks.toml"));
  EXPECT_EQ(file.stacks.size(), 2u);
  for (const auto& [name, entry] : file.stacks) {
    EXPECT_EQ(to_text(entry.policies.check()), "") << name;
    EXPECT_GT(entry.policies.size(), 2u) << name;
  }
}

} // namespace
} // namespace caisson::test
