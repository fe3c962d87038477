// One gate with many layers does what a chain of gates with one layer each
// does: for plans drawn at random every call gets the same answer at the same
// instant, and the workers see the same attempts.
#include "support/plan_player.hpp"
#include "support/random_plan.hpp"
#include "support/rounds.hpp"

#include <caisson/stack/built_in_kinds.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

// -- comparison ---------------------------------------------------------------

std::string answer_text(const caller_answer& x) {
  return x.answered ? fmt::format("{} at {}{}", x.what, caisson::to_text(x.at),
                                  x.may_have_executed ? ", executed" : "")
                    : "no answer";
}

// What is in `a` and not in `b`, with repetitions.
std::vector<std::string> without(const std::vector<std::string>& a,
                                 const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(),
                      std::back_inserter(out));
  return out;
}

bool same(const caller_answer& one, const caller_answer& chain,
          plan_kind kind) {
  if (kind != plan_kind::mixed)
    return one == chain;
  // The chain may not know that a gate further in has not sent the call on.
  auto less_sure = chain;
  less_sure.may_have_executed = less_sure.may_have_executed
                                && one.may_have_executed;
  return one == less_sure;
}

// One line for each thing that is not the same; empty: all is, or cannot be
// compared.
std::string differences(const stack_plan& p, plan_kind kind) {
  using form = plan_player::form;
  auto one = plan_player{p, form::one_gate}.play();
  auto chain = plan_player{p, form::chain}.play();
  std::string out;
  if (one.crowded || chain.crowded)
    return out;
  for (const auto& [id, x] : one.answers)
    if (const auto& y = chain.answers.at(id); !same(x, y, kind))
      out += fmt::format("call {}: one gate: {}\n        the chain: {}\n", id,
                         answer_text(x), answer_text(y));
  for (const auto& x : without(one.attempts, chain.attempts))
    out += "only with one gate: " + x + "\n";
  for (const auto& x : without(chain.attempts, one.attempts))
    out += "only with the chain: " + x + "\n";
  if (one.acts != chain.acts)
    for (std::size_t i = 0; i < one.acts.size(); ++i)
      out += one.acts[i] + "\n" + chain.acts[i] + "\n";
  return out;
}

// -- shrinking ----------------------------------------------------------------

/// Takes away what a plan fails without.
class shrinker {
public:
  shrinker(stack_plan p, plan_kind kind) : plan_(std::move(p)), kind_(kind) {}

  stack_plan run() {
    do
      smaller_ = false;
    while ((drop_layers(), drop_each(&stack_plan::calls),
            drop_each(&stack_plan::acts), drop_settings(), plainer_calls(),
            smaller_)
           && runs_ < 3'000);
    return plan_;
  }

private:
  void consider(stack_plan p) {
    if (++runs_ > 3'000 || p.layers.empty() || !random_plan::valid(p.layers)
        || differences(p, kind_).empty())
      return;
    plan_ = std::move(p);
    smaller_ = true;
  }

  template <class T>
  void drop_each(std::vector<T> stack_plan::*part) {
    for (auto n = (plan_.*part).size(); n > 0; n /= 2)
      for (std::size_t i = 0; i < (plan_.*part).size();) {
        auto p = plan_;
        auto& all = p.*part;
        auto from = all.begin() + static_cast<std::ptrdiff_t>(i);
        all.erase(from,
                  from
                    + static_cast<std::ptrdiff_t>(std::min(n, all.size() - i)));
        auto before = (plan_.*part).size();
        consider(std::move(p));
        if ((plan_.*part).size() == before)
          i += n;
      }
  }

  void drop_layers() {
    for (std::size_t i = 0; i < plan_.layers.size();) {
      auto p = plan_;
      auto name = p.layers[i].name;
      p.layers.erase(p.layers.begin() + static_cast<std::ptrdiff_t>(i));
      std::erase_if(p.acts, [&](auto& x) { return x.layer == name; });
      auto before = plan_.layers.size();
      consider(std::move(p));
      if (plan_.layers.size() == before)
        ++i;
    }
  }

  void drop_settings() {
    for (std::size_t i = 0; i < plan_.layers.size(); ++i)
      for (const auto& [key, value] : texts{plan_.layers[i].set}) {
        if (is_needed(key))
          continue;
        auto p = plan_;
        p.layers[i].set.erase(key);
        consider(std::move(p));
      }
  }

  // To neutralise what the two may do differently.
  static bool is_needed(const std::string& key) {
    return key == "count_only" || key == "count_attempt_timeouts"
           || key == "heed_breakers" || key == "single_flight"
           || key == "max_mirrored" || key == "ramp_from"
           || key == "refresh_timeout" || key == "flush_timeout"
           || key == "staleness" || key == "unsafe" || key.ends_with("_rate");
  }

  void plainer_calls() {
    auto attempt = [this](std::size_t i, auto change) {
      auto p = plan_;
      if (change(p.calls[i]))
        consider(std::move(p));
    };
    for (std::size_t i = 0; i < plan_.calls.size(); ++i) {
      attempt(i, [](call_plan& x) {
        return x.deadline != unlimited && (x.deadline = unlimited, true);
      });
      attempt(i, [](call_plan& x) {
        return x.permits != 1 && (x.permits = 1, true);
      });
      for (auto part : {&call_plan::worker, &call_plan::alternative}) {
        attempt(i, [part](call_plan& x) {
          auto& all = x.*part;
          return all.size() > 1 && (all.pop_back(), true);
        });
        attempt(i, [part](call_plan& x) {
          auto& first = (x.*part).front();
          return first.after != duration::zero()
                 && (first.after = duration::zero(), true);
        });
      }
    }
  }

  stack_plan plan_;
  plan_kind kind_;
  bool smaller_ = false;
  int runs_ = 0;
};

// -- tests --------------------------------------------------------------------

// How many plans each test plays.
std::uint64_t plans() {
  return rounds(20);
}

class chain_equals_stack_test
  : public testing::TestWithParam<std::tuple<plan_kind, std::uint64_t>> {};

INSTANTIATE_TEST_SUITE_P(
  plans, chain_equals_stack_test,
  testing::Combine(testing::Values(plan_kind::patient, plan_kind::prompt,
                                   plan_kind::mixed),
                   testing::Range(std::uint64_t{0}, std::uint64_t{10})));

// A plan in which too much happens at once says nothing.
TEST(plans, can_be_compared_mostly) {
  using form = plan_player::form;
  for (auto kind : {plan_kind::patient, plan_kind::prompt, plan_kind::mixed}) {
    auto crowded = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed)
      crowded += plan_player{random_plan{kind, seed}.draw(), form::one_gate}
                   .play()
                   .crowded;
    EXPECT_LE(crowded, 25) << kind;
  }
}

TEST(plans, have_everything_that_can_be_compared) {
  std::map<plan_kind, std::set<std::string>> seen;
  for (auto kind : {plan_kind::patient, plan_kind::prompt, plan_kind::mixed})
    for (std::uint64_t seed = 0; seed < 300; ++seed)
      for (const auto& x : random_plan{kind, seed}.draw().layers) {
        auto text = plan_text(x);
        auto name = text.substr(3, text.find(' ', 3) - 3);
        seen[kind].insert(name);
        for (auto [is_set, how] :
             {std::pair{x.per_key, " per key"},
              std::pair{x.verifies, " verifying"},
              std::pair{x.writes, " writing"},
              std::pair{x.set.contains("negative_ttl"), " keeping errors"}})
          if (is_set)
            seen[kind].insert(name + how);
      }
  auto drawn = [](unsigned layer_weights::*weight) {
    std::set<std::string> out;
    for (const auto& x : all_layer_traits())
      if (x.weights.*weight > 0) {
        out.insert(x.kind);
        if (x.keyable)
          out.insert(x.kind + " per key");
      }
    out.insert({"cache keeping errors", "retrier verifying"});
    return out;
  };
  auto mixed = drawn(&layer_weights::mixed);
  // Innermost only.
  mixed.insert({"limiter", "limiter per key"});
  EXPECT_EQ(seen[plan_kind::mixed], mixed);
  EXPECT_EQ(seen[plan_kind::prompt], drawn(&layer_weights::prompt));
  auto patient = drawn(&layer_weights::patient);
  patient.insert("cache writing");
  EXPECT_EQ(seen[plan_kind::patient], patient);
}

TEST(plans, can_have_each_kind_of_policy) {
  std::set<std::string> planned, all;
  for (const auto& x : all_layer_traits())
    EXPECT_TRUE(planned.insert(x.kind).second) << x.kind;
  // Kinds that other tests of this program have added have no plans.
  for (const auto& x : detail::built_in_kinds())
    all.insert(x.name);
  EXPECT_EQ(planned, all);
}

// So a new kind needs no traits if a chain sees what a single gate sees,
// whatever its settings.
TEST(plans, have_default_traits_for_other_kinds) {
  auto built = [](const layer_traits& x) {
    layer_plan p{.kind = x.kind, .name = "L0", .per_key = x.keyable};
    p.set = {{"mode", "observe"}};
    if (x.keyable)
      p.set["per_key.max_keys"] = "2";
    stack s;
    problems found;
    x.add(s, p, {}, found);
    EXPECT_EQ(to_text(found), "");
    return s.build();
  };
  // Their own traits begin with the defaults, too.
  for (const auto* name : {"deadline", "limiter", "semaphore", "throttle"}) {
    SCOPED_TRACE(name);
    auto left_out = built(default_traits(*find_policy_kind(name)));
    auto own = built(traits_of(name));
    ASSERT_EQ(left_out.size(), 1u);
    ASSERT_EQ(own.size(), 1u);
    EXPECT_EQ(left_out[0]->machine().kind(), own[0]->machine().kind());
    auto rows = left_out[0]->config_rows();
    auto expected = own[0]->config_rows();
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i].key + rows[i].value,
                expected[i].key + expected[i].value);
  }
}

TEST(plans, draw_settings_of_other_kinds_from_their_ranges) {
  using values = std::map<std::string, std::set<std::string>>;
  auto drawn = [](const char* kind) {
    auto x = default_traits(*find_policy_kind(kind));
    values out;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      random_settings r{plan_kind::patient, seed};
      for (auto& [key, value] : x.settings(r))
        out[key].insert(value);
    }
    return out;
  };
  auto keys_of = [](const values& all) {
    std::set<std::string> out;
    for (const auto& [key, set] : all)
      out.insert(key);
    return out;
  };
  auto all = drawn("cooldown");
  EXPECT_EQ(keys_of(all), (std::set<std::string>{"default_time", "max_time"}));
  EXPECT_TRUE(all["default_time"].contains("0s"));
  EXPECT_TRUE(all["max_time"].contains("1d"));
  // All but these are odd.
  EXPECT_GT(all["max_time"].size(), 100u);
  EXPECT_FALSE(all["max_time"].contains("1ms"));
  // No name, mode or list of errors.
  all = drawn("throttle");
  EXPECT_EQ(keys_of(all),
            (std::set<std::string>{"max_rejection", "min_rate", "multiplier",
                                   "pass_after", "window"}));
  EXPECT_EQ(all["min_rate"],
            (std::set<std::string>{"0", "1", "5", "20", "1000000"}));
}

// The same engine, in another host; half of the gates end halfway.
TEST_P(chain_equals_stack_test, a_local_gate_does_what_a_gate_does) {
  using form = plan_player::form;
  auto [kind, block] = GetParam();
  for (std::uint64_t i = 0; i < plans(); ++i) {
    auto seed = block * plans() + i;
    auto p = random_plan{kind, seed}.draw();
    if (seed % 2 == 0)
      p.end = std::chrono::milliseconds(200 + seed * 37 % 4'000);
    auto gate = plan_player{p, form::one_gate}.play();
    auto local = plan_player{p, form::local}.play();
    SCOPED_TRACE(
      fmt::format("random_plan{{{}, {}}}", static_cast<int>(kind), seed));
    for (const auto& [id, x] : gate.answers)
      EXPECT_EQ(answer_text(x), answer_text(local.answers.at(id)))
        << "call " << id;
    EXPECT_EQ(gate.attempts, local.attempts);
    EXPECT_EQ(gate.acts, local.acts);
    if (HasFailure())
      return;
  }
}

TEST_P(chain_equals_stack_test, one_gate_does_what_a_chain_does) {
  auto [kind, block] = GetParam();
  for (std::uint64_t i = 0; i < plans(); ++i) {
    auto seed = block * plans() + i;
    auto p = random_plan{kind, seed}.draw();
    if (differences(p, kind).empty())
      continue;
    auto least = shrinker{p, kind}.run();
    ADD_FAILURE() << "random_plan{" << kind << ", " << seed
                  << "}, cut down to:\n"
                  << plan_text(least) << differences(least, kind);
    if (!std::getenv("CAISSON_ROUNDS"))
      return;
  }
}

} // namespace
} // namespace caisson::test
