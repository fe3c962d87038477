// Policies per key that start children, or cannot be made.
#include <policies/keyed/model/keyed_rig.hpp>

#include <caisson/policy/policy_base.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace caisson::test {
namespace {

using testing::ElementsAre;

// -- children -----------------------------------------------------------------

enum class asker_counter : std::uint8_t { asked, answers, count_ };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::asker_counter> {
  static constexpr std::string_view value[] = {"asked", "answers"};
};

namespace caisson::test {
namespace {

struct asker_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;
  std::uint32_t fails_to_be_made = 0;
};

void describe(field_visitor& v, asker_config& c) {
  describe_common(v, c);
  v.integer({"fails_to_be_made", "whether its constructor throws"},
            c.fails_to_be_made, {0, 1});
}

// Asks a question of its own for each call, which passes.
class asker final : public policy_base<asker, asker_config, asker_counter> {
public:
  static constexpr std::string_view kind_name = "asker";

  static inline bool throws = false;

  explicit asker(asker_config c) : policy_base(std::move(c)) {
    if (throws || config_.fails_to_be_made > 0)
      throw std::runtime_error{"not today"};
  }

  decision admit(call_info& call, slot&, env& e) override {
    if (last_ != 0)
      e.cancel_child(last_);
    e.resume(call.id);
    last_ = e.start_child({.key = call.key});
    count(counter::asked);
    return decision::hold();
  }

  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }

  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}

  decision child_done(call_id child, outcome&, env&) override {
    EXPECT_EQ(child, last_);
    last_ = 0;
    count(counter::answers);
    return decision::pass();
  }

private:
  call_id last_ = 0;
};

TEST(keyed_children, come_back_to_the_policy_that_started_them) {
  keyed_rig<asker> h{keyed_config<asker>{}};
  h.finish(h.arrive(of_key("a")));
  h.finish(h.arrive(of_key("b")));
  ASSERT_THAT(h.launched, ElementsAre(1u, 2u));
  EXPECT_EQ(h.e.children.at(1).key, "b");
  auto o = outcome::success();
  h.policy.child_done(2, o, h.e);
  auto top = h.policy.busiest(2);
  EXPECT_EQ(top[0].metrics.at(1).value, 0);
  EXPECT_EQ(top[1].metrics.at(1).value, 1);
}

TEST(keyed_children, are_asked_for_in_their_place_among_other_requests) {
  keyed_rig<asker> h{keyed_config<asker>{}};
  call_info call = of_key("a");
  call.id = 7;
  slot notes;
  h.policy.admit(call, notes, h.e);
  h.policy.admit(call, notes, h.e);
  using kind = env::action::kind;
  std::vector<kind> what;
  for (auto& a : h.e.actions)
    what.push_back(a.what);
  EXPECT_THAT(what,
              ElementsAre(kind::resume, kind::start_child, kind::cancel_child,
                          kind::resume, kind::start_child));
}

TEST(keyed_children, keep_their_key) {
  keyed_rig<asker> h{keyed_config<asker>{{}, {.max_keys = 1, .idle = 1s}}};
  h.finish(h.arrive(of_key("a")));
  h.advance(60s);
  EXPECT_EQ(h.count("keys"), 1);
  EXPECT_EQ(h.calls.at(h.arrive(of_key("b"))).code, errc::shed);
  auto o = outcome::success();
  h.policy.child_done(1, o, h.e);
  EXPECT_EQ(h.count("answers"), 1);
  h.advance(1s);
  EXPECT_EQ(h.count("keys"), 0);
}

TEST(keyed_children, are_forgotten_when_they_are_cancelled) {
  keyed_rig<asker> h{keyed_config<asker>{{}, {.idle = 1s}}};
  h.finish(h.arrive(of_key("a")));
  h.finish(h.arrive(of_key("a")));
  auto o = outcome::success();
  h.policy.child_done(1, o, h.e);
  EXPECT_EQ(h.count("answers"), 0);
  h.policy.child_done(2, o, h.e);
  EXPECT_EQ(h.count("answers"), 1);
  h.advance(1s);
  EXPECT_EQ(h.count("keys"), 0);
}

// -- a call that is held and rejected in one turn -----------------------------

enum class moody_counter : std::uint8_t { seen, count_ };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::moody_counter> {
  static constexpr std::string_view value[] = {"seen"};
};

namespace caisson::test {
namespace {

struct moody_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;
};

void describe(field_visitor& v, moody_config& c) {
  describe_common(v, c);
}

// Holds each call, and changes its mind at once.
class moody final : public policy_base<moody, moody_config, moody_counter> {
public:
  static constexpr std::string_view kind_name = "moody";

  explicit moody(moody_config c) : policy_base(std::move(c)) {}

  decision admit(call_info& call, slot&, env& e) override {
    count(counter::seen);
    e.reject(call.id, errc::shed);
    // Of a call that it does not have.
    e.reject(call.id + 1, errc::shed);
    return decision::hold();
  }

  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }

  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}
};

TEST(keyed_held, lets_a_key_go_whose_call_is_held_and_rejected_in_one_turn) {
  keyed_rig<moody> h{keyed_config<moody>{{}, {.max_keys = 1}}};
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::rejected);
  EXPECT_EQ(h.where(h.arrive(of_key("b"))), place::rejected);
  EXPECT_EQ(h.count("refused_keys"), 0);
  EXPECT_EQ(h.count("keys_evicted"), 1);
}

// -- policies that cannot be made ---------------------------------------------

TEST(keyed_making, refuses_a_call_if_the_constructor_of_its_policy_throws) {
  keyed_rig<asker> h{keyed_config<asker>{}};
  asker::throws = true;
  auto x = h.arrive(of_key("a"));
  asker::throws = false;
  EXPECT_EQ(h.where(x), place::rejected);
  EXPECT_EQ(h.calls.at(x).code, errc::callback_failed);
  EXPECT_THAT(h.e.threw, ElementsAre("the policy of a key: not today"));
  EXPECT_EQ(h.count("keys"), 0);
  EXPECT_EQ(h.count("refused_keys"), 1);
  EXPECT_EQ(h.where(h.arrive(of_key("a"))), place::below);
}

TEST(keyed_making, finds_at_the_start_what_a_constructor_will_refuse) {
  EXPECT_THROW(keyed<asker>({{.fails_to_be_made = 1}}), std::runtime_error);
  EXPECT_THROW(
    keyed<asker>({{}, {.overrides = {{"a", {{"fails_to_be_made", "1"}}}}}}),
    std::runtime_error);
}

} // namespace
} // namespace caisson::test
