// Policies that do not come with caisson: the one of docs/own-policy.md, and
// one with a layer of its own. As a kind in the table, the former runs through
// the tests of all forms, too.
#include <caisson/policies/breaker/breaker.hpp>

#include "support/kinds.hpp"
#include "support/rig.hpp"
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <examples/key_ceiling.hpp>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using demo::key_ceiling;

// Before main, and so before the tests of all forms ask which kinds there are.
const bool added = [] {
  add_policy_kind<key_ceiling>();
  return true;
}();

// -- the policy alone ---------------------------------------------------------

call_info of(std::string key) {
  call_info c;
  c.key = std::move(key);
  return c;
}

TEST(key_ceiling, counts_each_key_for_itself) {
  rig<key_ceiling> s{demo::key_ceiling_config{.per_key = 2}};
  s.arrive(of("a"));
  auto second = s.arrive(of("a"));
  auto third = s.arrive(of("a"));
  EXPECT_EQ(s.where(second), place::below);
  EXPECT_EQ(s.where(third), place::rejected);
  EXPECT_EQ(s.calls.at(third).code, errc::queue_full);
  EXPECT_EQ(s.where(s.arrive(of("b"))), place::below);
  EXPECT_EQ(s.count("in_use"), 3);
  EXPECT_EQ(s.count("keys"), 2);
}

TEST(key_ceiling, gives_the_place_of_a_call_that_ends_in_any_way_to_another) {
  rig<key_ceiling> s{demo::key_ceiling_config{.per_key = 1}};
  s.finish(s.arrive(of("a")));
  s.fail(s.arrive(of("a")));
  s.abandon(s.arrive(of("a")));
  EXPECT_EQ(s.where(s.arrive(of("a"))), place::below);
  EXPECT_EQ(s.count("refused"), 0);
  EXPECT_EQ(s.count("finished"), 2);
  EXPECT_EQ(s.count("abandoned"), 1);
  EXPECT_EQ(s.count("keys"), 1);
}

TEST(key_ceiling, lets_calls_without_a_key_pass_unless_they_count) {
  rig<key_ceiling> s{demo::key_ceiling_config{.per_key = 1}};
  auto before = s.arrive();
  s.arrive();
  EXPECT_EQ(s.count("unnamed"), 2);
  s.policy.reconfigure({.per_key = 1, .count_unnamed = true}, s.e);
  auto counted = s.arrive();
  EXPECT_EQ(s.where(s.arrive()), place::rejected);
  // What was not counted when it came is not taken off when it goes.
  s.finish(before);
  EXPECT_EQ(s.count("in_use"), 1);
  s.finish(counted);
  EXPECT_EQ(s.count("in_use"), 0);
}

TEST(key_ceiling, lets_none_in_while_more_are_below_than_a_new_setting_allows) {
  rig<key_ceiling> s{demo::key_ceiling_config{.per_key = 3}};
  auto a = s.arrive(of("a"));
  auto b = s.arrive(of("a"));
  s.policy.reconfigure({.per_key = 1}, s.e);
  s.finish(a);
  EXPECT_EQ(s.where(s.arrive(of("a"))), place::rejected);
  s.finish(b);
  EXPECT_EQ(s.where(s.arrive(of("a"))), place::below);
}

TEST(key_ceiling, forgets_its_counts_and_keeps_its_calls_on_reset) {
  rig<key_ceiling> s{demo::key_ceiling_config{.per_key = 1}};
  s.arrive(of("a"));
  EXPECT_TRUE(s.policy.command(operator_command::reset, s.e));
  EXPECT_EQ(s.count("passed"), 0);
  EXPECT_EQ(s.count("in_use"), 1);
  EXPECT_FALSE(s.policy.command(operator_command::force_open, s.e));
}

TEST(key_ceiling, refuses_settings_out_of_range) {
  EXPECT_THROW(key_ceiling({.per_key = 0}), config_error);
}

// -- in stacks ----------------------------------------------------------------

TEST(own_kind, is_the_same_from_toml_as_from_code) {
  auto read = only_stack("[[stack.s.layer]]\nkind = 'limiter'\n"
                         "[[stack.s.layer]]\nkind = 'key_ceiling'\n"
                         "per_key = 3\n"
                         "[[stack.s.layer]]\nkind = 'key_ceiling'\n");
  EXPECT_EQ(rows_in(read.policies), rows_in(stack{"s"}
                                              .limiter()
                                              .add<key_ceiling>({.per_key = 3})
                                              .add<key_ceiling>()));
  EXPECT_EQ(
    read.policies.names(),
    (std::vector<std::string>{"limiter", "key_ceiling", "key_ceiling-2"}));
}

TEST(own_kind, is_what_was_meant_if_its_name_is_misspelled) {
  EXPECT_EQ(
    complaint("[[stack.s.layer]]\nkind = 'key_celing'\n"),
    "f:2:8: stack.s.layer[0].kind: \"key_celing\" is not a kind of layer, "
    "did you mean \"key_ceiling\"? allowed: "
      + listed_kinds());
  EXPECT_NE(listed_kinds().find(", key_ceiling"), std::string::npos);
}

TEST(own_kind, cannot_have_the_name_of_another_one_or_none) {
  auto before = policy_kinds().size();
  auto error_of = [](policy_kind x) {
    try {
      add_policy_kind(std::move(x));
    } catch (const config_error& e) {
      return std::string{e.what()};
    }
    return std::string{"none"};
  };
  EXPECT_EQ(error_of(kind_of<key_ceiling>()),
            "kind: \"key_ceiling\" is a kind of policy already");
  EXPECT_EQ(error_of(kind_of<breaker>()),
            "kind: \"breaker\" is a kind of policy already");
  EXPECT_EQ(error_of({}), "kind: a kind of policy needs a name");
  EXPECT_EQ(policy_kinds().size(), before);
}

TEST(own_kind, can_be_looked_up_and_others_cannot) {
  ASSERT_NE(find_policy_kind("key_ceiling"), nullptr);
  EXPECT_EQ(find_policy_kind("key_ceiling")->rows().at(2).key, "per_key");
  EXPECT_EQ(find_policy_kind("key_floor"), nullptr);
}

// -- a layer of one's own -----------------------------------------------------

struct doorman_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;
};

void describe(field_visitor& v, doorman_config& c) {
  describe_common(v, c);
}

enum class doorman_counter { seen, count_ };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::doorman_counter> {
  static constexpr std::string_view value[] = {"seen"};
};

namespace caisson::test {
namespace {

// Sees only the calls that its layer does not answer.
class doorman final
  : public policy_base<doorman, doorman_config, doorman_counter> {
public:
  static constexpr std::string_view kind_name = "doorman";

  explicit doorman(doorman_config c) : policy_base(std::move(c)) {}

  decision admit(call_info&, slot&, env&) override {
    count(counter::seen);
    return decision::pass();
  }
  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
};

// Answers one number itself.
class doorman_layer final : public policy_layer<doorman> {
public:
  doorman_layer(const doorman_config& c, int known)
    : policy_layer<doorman>(c), known_(known) {}

  static void check_extras(int known, const setting_path& path, problems& out) {
    if (known < 0)
      out.push_back({problem_kind::range, path / "known", "is negative"});
  }

  [[nodiscard]] bool handles_content() const override { return true; }

  std::optional<caf::message> prefilter(const caf::message& content,
                                        env&) override {
    auto* x = portable::get_if<int>(content);
    if (!x || *x != known_)
      return std::nullopt;
    return caf::make_message(-*x);
  }

private:
  int known_;
};

} // namespace
} // namespace caisson::test

template <>
struct caisson::layer_of<caisson::test::doorman> {
  using type = caisson::test::doorman_layer;
};

namespace caisson::test {
namespace {

TEST(own_layer, sees_what_calls_contain) {
  virtual_time world;
  scripted_worker w{world, doubles()};
  auto gate = spawn_policy<doorman>(world, w.handle(), {}, 7);
  EXPECT_EQ(world.request(gate, 7).value<int>(), -7);
  EXPECT_EQ(world.request(gate, 8).value<int>(), 16);
  auto s = world.request(gate, get_status{}).value<status>();
  EXPECT_EQ(s.layer("doorman").kind, "doorman");
  EXPECT_EQ(s.metric("doorman", "seen"), 1);
}

TEST(own_layer, has_what_it_was_given_besides_the_config_checked) {
  auto s = stack{"s"}.add<doorman>({}, 1).add<doorman>({}, -1);
  EXPECT_EQ(to_text(s.check()), "doorman-2.known: is negative");
  virtual_time world;
  scripted_worker w{world, doubles()};
  EXPECT_THROW(spawn_gate(world, w.handle(), s), config_error);
}

} // namespace
} // namespace caisson::test
