// Mirrored calls: which there are, and what comes of differences.
#include <policies/canary/model/canary_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using strings = std::vector<std::string>;

canary_config mirroring() {
  auto c = quick_canary();
  c.mirror_rate = 1;
  c.max_difference_rate = 1;
  return c;
}

/// Contents are integers, and so are answers: 13 cannot be compared.
canary_host with_integers(std::weak_ptr<int>* last = nullptr) {
  return {.keep =
            [=](const void* x) {
              auto copy = std::make_shared<int>(*static_cast<const int*>(x));
              if (last)
                *last = copy;
              return copy;
            },
          .same =
            [](const void* a, const void* b) {
              auto x = *static_cast<const int*>(a);
              if (x == 13)
                throw std::runtime_error{"thirteen"};
              return x == *static_cast<const int*>(b);
            }};
}

class mirrors : public canary_rig {
public:
  explicit mirrors(canary_config c = mirroring(),
                   canary_host more = with_integers())
    : canary_rig(std::move(c), std::move(more)) {}

  /// One that is joined meanwhile by others that must not be repeated.
  call_id mirror_joined(const outcome& o) {
    auto before = e.children.size();
    policy.set_next(&asked);
    auto id = to_baseline(marked(idempotence::yes));
    calls.at(id).call.idempotent = idempotence::no;
    finish(id, o);
    return e.children.size() > before ? e.children.size() : 0;
  }

  /// A call to the baseline, which answers with that; returns the child that
  /// mirrors it, 0 if there is none.
  call_id mirror(const outcome& o, idempotence mark = idempotence::yes) {
    auto before = e.children.size();
    policy.set_next(&asked);
    finish(to_baseline(marked(mark)), o);
    return e.children.size() > before ? e.children.size() : 0;
  }

  call_id mirror(int answer = 1) {
    auto o = outcome::success();
    o.reply = &answer;
    return mirror(o);
  }

  void answer(call_id child, outcome o) {
    EXPECT_EQ(policy.child_done(child, o, e).what, decision::kind::pass);
  }

  void answer(call_id child, int value) {
    auto o = outcome::success();
    o.reply = &value;
    answer(child, o);
  }

  int asked = 5;
};

TEST(canary_mirrors, are_idempotent_calls_that_the_baseline_answered) {
  mirrors h;
  auto no_answer = outcome::failure(errc::deadline_exceeded, true);
  auto error = outcome::failure(errc::rate_limited, true);
  error.from_worker = true;
  EXPECT_NE(h.mirror(), 0u);
  EXPECT_NE(h.mirror(error), 0u);
  EXPECT_EQ(h.mirror(no_answer), 0u);
  // The worker has none of its server.
  error.unanswered = true;
  EXPECT_EQ(h.mirror(error), 0u);
  EXPECT_EQ(h.mirror(outcome::success(), idempotence::unmarked), 0u);
  EXPECT_EQ(h.mirror(outcome::success(), idempotence::no), 0u);
  EXPECT_EQ(h.mirror_joined(outcome::success()), 0u);
  EXPECT_EQ(h.count("mirrored"), 2);
  EXPECT_EQ(h.count("mirroring"), 2);
}

TEST(canary_mirrors, keep_no_request_that_must_not_be_repeated) {
  auto kept = 0;
  auto parts = with_integers();
  parts.keep = [&kept](const void*) {
    ++kept;
    return std::make_shared<int>();
  };
  mirrors h{mirroring(), parts};
  auto answer = outcome::success();
  h.mirror(answer, idempotence::no);
  h.mirror(answer, idempotence::unmarked);
  EXPECT_EQ(kept, 0);
  h.mirror(answer);
  EXPECT_EQ(kept, 1);
}

TEST(canary_mirrors, are_a_share_of_them) {
  auto c = mirroring();
  c.mirror_rate = 0.3;
  c.max_mirrored = 10'000;
  mirrors h{c};
  for (int i = 0; i < 1000; ++i)
    h.mirror();
  EXPECT_NEAR(static_cast<double>(h.count("mirrored")), 300, 60);
}

TEST(canary_mirrors, are_none_by_default) {
  auto c = mirroring();
  c.mirror_rate = canary_config{}.mirror_rate;
  mirrors h{c};
  EXPECT_EQ(h.mirror(), 0u);
}

TEST(canary_mirrors, are_none_while_the_canary_is_not_judged) {
  auto c = mirroring();
  c.enabled = false;
  mirrors waiting{c};
  EXPECT_EQ(waiting.mirror(), 0u);
  mirrors back;
  back.canary_answers(10, failed());
  ASSERT_EQ(back.state(), "rolled_back");
  EXPECT_EQ(back.mirror(), 0u);
  auto parts = with_integers();
  parts.sends = [] { return false; };
  mirrors observing{mirroring(), parts};
  EXPECT_EQ(observing.mirror(), 0u);
}

TEST(canary_mirrors, that_were_drawn_before_the_way_back_are_not_sent) {
  mirrors h;
  h.policy.set_next(&h.asked);
  auto id = h.to_baseline(marked(idempotence::yes));
  h.canary_answers(10, failed());
  h.finish(id);
  EXPECT_EQ(h.count("mirrored"), 0);
}

TEST(canary_mirrors, ask_the_canary_what_the_call_asked) {
  mirrors h;
  auto call = marked(idempotence::yes);
  call.priority = 3;
  call.permits = 2;
  h.policy.set_next(&h.asked);
  auto id = h.to_baseline(call);
  h.finish(id);
  const auto& child = h.e.children.at(0);
  EXPECT_EQ(child.target, 0u);
  EXPECT_TRUE(child.parents.empty());
  EXPECT_EQ(child.deadline, h.e.now + 10s);
  EXPECT_EQ(child.priority, 3);
  EXPECT_EQ(child.permits, 2u);
  EXPECT_EQ(child.key, h.keys.baseline);
  EXPECT_EQ(child.idempotent, idempotence::yes);
  auto content = h.policy.take_content(1);
  ASSERT_TRUE(content);
  EXPECT_EQ(*static_cast<const int*>(content.get()), 5);
  EXPECT_EQ(h.policy.take_content(1), nullptr);
  EXPECT_EQ(h.policy.take_content(2), nullptr);
}

TEST(canary_mirrors, are_so_many_at_once_at_most) {
  auto c = mirroring();
  c.max_mirrored = 2;
  mirrors h{c};
  auto first = h.mirror();
  EXPECT_NE(h.mirror(), 0u);
  EXPECT_EQ(h.mirror(), 0u);
  EXPECT_EQ(h.count("mirrors_skipped"), 1);
  h.answer(first, 1);
  EXPECT_EQ(h.count("mirroring"), 1);
  EXPECT_NE(h.mirror(), 0u);
}

TEST(canary_mirrors, keep_nothing_of_a_call_that_is_gone) {
  std::weak_ptr<int> kept;
  mirrors h{mirroring(), with_integers(&kept)};
  h.policy.set_next(&h.asked);
  auto id = h.to_baseline(marked(idempotence::yes));
  EXPECT_FALSE(kept.expired());
  h.abandon(id, errc::cancelled);
  EXPECT_TRUE(kept.expired());
  auto child = h.mirror();
  EXPECT_FALSE(kept.expired());
  h.answer(child, 1);
  EXPECT_TRUE(kept.expired());
}

struct pair_of_answers {
  std::optional<int> baseline, canary;
  errc code_of_baseline, code_of_canary;
  std::string counted;
  std::string detail;
};

TEST(canary_mirrors, are_compared_by_outcome_code_and_value) {
  using enum errc;
  constexpr auto none = cancelled;
  const pair_of_answers rows[] = {
    {1, 1, none, none, "mirrors_equal", ""},
    {1, 2, none, none, "mirrors_differing", "value"},
    {1, {}, none, worker_down, "mirrors_differing", "outcome"},
    {1, {}, none, deadline_exceeded, "mirrors_differing", "outcome"},
    {{}, 1, rate_limited, none, "mirrors_differing", "outcome"},
    {{}, {}, rate_limited, rate_limited, "mirrors_equal", ""},
    {{}, {}, rate_limited, queue_full, "mirrors_differing", "code"},
    {1, {}, none, cancelled, "mirrors_unjudged", ""},
    {13, 13, none, none, "mirrors_unjudged", ""},
  };
  auto outcome_with = [](const std::optional<int>& value, errc code) {
    auto o = value ? outcome::success() : outcome::failure(code, true);
    o.from_worker = true;
    o.reply = value ? &*value : nullptr;
    return o;
  };
  for (const auto& x : rows) {
    mirrors h;
    auto child = h.mirror(outcome_with(x.baseline, x.code_of_baseline));
    h.e.reports.clear();
    h.e.details.clear();
    h.answer(child, outcome_with(x.canary, x.code_of_canary));
    EXPECT_EQ(h.count(x.counted), 1) << x.counted << " " << x.detail;
    EXPECT_EQ(h.e.reports.size(), x.detail.empty() ? 0u : 1u);
    if (!x.detail.empty()) {
      EXPECT_EQ(h.e.reports.at(0), "differed:>");
      EXPECT_EQ(h.e.details.at(0), x.detail);
    }
    EXPECT_EQ(h.e.threw.size(), x.baseline == 13 ? 1u : 0u);
    EXPECT_EQ(h.count("mirroring"), 0);
  }
}

TEST(canary_mirrors, of_another_category_differ_by_code) {
  mirrors h;
  auto baseline_error = outcome::failure(errc::rate_limited, true);
  baseline_error.from_worker = true;
  auto canary_error = baseline_error;
  canary_error.own_error = false;
  canary_error.category = category_hash("app");
  h.answer(h.mirror(baseline_error), canary_error);
  EXPECT_EQ(h.count("mirrors_differing"), 1);
}

TEST(canary_mirrors, say_nothing_of_values_without_a_function) {
  auto parts = with_integers();
  parts.same = nullptr;
  mirrors h{mirroring(), parts};
  h.answer(h.mirror(1), 2);
  EXPECT_EQ(h.count("mirrors_equal"), 1);
}

TEST(canary_mirrors, that_differ_too_often_end_the_stage) {
  auto c = mirroring();
  c.max_difference_rate = 0.2;
  mirrors h{c};
  for (int i = 0; i < 3; ++i)
    h.answer(h.mirror(1), 2);
  for (int i = 0; i < 6; ++i)
    h.answer(h.mirror(1), 1);
  // Nine are too few.
  EXPECT_EQ(h.state(), "stage_1");
  h.answer(h.mirror(1), 1);
  EXPECT_EQ(h.state(), "rolled_back");
  EXPECT_EQ(h.changes().back(), "stage_1>rolled_back: difference rate 0.3000");
}

TEST(canary_mirrors, may_differ_as_often_as_is_allowed) {
  auto c = mirroring();
  c.max_difference_rate = 0.2;
  mirrors h{c};
  for (int i = 0; i < 100; ++i)
    h.answer(h.mirror(1), i % 5 == 4 ? 2 : 1);
  EXPECT_EQ(h.state(), "stage_1");
  h.answer(h.mirror(1), 2);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_mirrors, count_in_the_stage_in_which_they_come) {
  auto c = mirroring();
  c.max_difference_rate = 0;
  mirrors h{c};
  for (int i = 0; i < 9; ++i)
    h.answer(h.mirror(1), 2);
  auto last = h.mirror(1);
  h.canary_answers(10);
  h.advance(10s);
  ASSERT_EQ(h.state(), "stage_2");
  h.answer(last, 2);
  EXPECT_EQ(h.state(), "stage_2");
  EXPECT_EQ(h.count("mirrors_differing"), 10);
}

TEST(canary_mirrors, of_an_earlier_start_are_counted_and_not_judged) {
  auto c = mirroring();
  c.max_difference_rate = 0;
  c.min_calls = 1;
  mirrors h{c};
  auto old = h.mirror(1);
  h.command(operator_command::reset);
  h.to_canary();
  h.answer(old, 2);
  EXPECT_EQ(h.count("mirrors_differing"), 1);
  EXPECT_EQ(h.state(), "stage_1");
}

TEST(canary_mirrors, do_not_count_as_answers_of_the_canary) {
  mirrors h;
  for (int i = 0; i < 100; ++i)
    h.answer(h.mirror(1), outcome::failure(errc::worker_down, true));
  EXPECT_EQ(h.count("stage_answers"), 0);
  EXPECT_EQ(h.count("canary_failed"), 0);
  EXPECT_EQ(h.state(), "stage_1");
}

TEST(canary_mirrors, are_given_up_by_a_gate_that_drains) {
  mirrors h;
  auto child = h.mirror();
  h.mirror();
  std::vector<env::action> asked;
  h.policy.drain(h.e);
  asked = std::exchange(h.e.actions, {});
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].what, env::action::kind::cancel_child);
  EXPECT_EQ(asked[0].index + asked[1].index, child + child + 1);
  EXPECT_EQ(h.count("mirroring"), 0);
  EXPECT_EQ(h.count("mirrors_unjudged"), 2);
  EXPECT_EQ(h.mirror(), 0u);
}

// -- words --------------------------------------------------------------------

canary_host with_words() {
  auto out = with_integers();
  auto text = [](const void* x) {
    return std::to_string(*static_cast<const int*>(x));
  };
  out.text = text;
  out.describe = [=](const void* a, const void* b) {
    if (*static_cast<const int*>(b) == 666)
      throw std::runtime_error{"no words"};
    return text(a) + " is not " + text(b);
  };
  return out;
}

canary_config describing(std::uint32_t most) {
  auto c = mirroring();
  c.max_described = most;
  return c;
}

TEST(canary_mirrors, are_described_if_that_is_wanted) {
  mirrors h{describing(9), with_words()};
  auto own = outcome::failure(errc::rate_limited, true);
  own.from_worker = true;
  auto app = own;
  app.own_error = false;
  app.category = category_hash("app");
  app.code = 7;
  auto value = outcome::success();
  auto one = 1;
  value.reply = &one;
  struct {
    outcome baseline, canary;
    std::string words;
  } const table[] = {
    {value, own, "outcome: baseline 1, canary rate_limited"},
    {own, value, "outcome: baseline rate_limited, canary 1"},
    {outcome::success(), app, "outcome: baseline a value, canary error 7"},
    {own, app, "code: baseline rate_limited, canary error 7"},
  };
  for (const auto& x : table) {
    h.answer(h.mirror(x.baseline), x.canary);
    EXPECT_EQ(h.e.details.back(), x.words);
  }
  h.answer(h.mirror(1), 2);
  EXPECT_EQ(h.e.details.back(), "value: 1 is not 2");
  EXPECT_EQ(h.policy.notes().at("difference_5"), "call 5: value: 1 is not 2");
  EXPECT_EQ(h.policy.notes().at("difference_1"),
            "call 1: outcome: baseline 1, canary rate_limited");
}

TEST(canary_mirrors, are_not_described_by_default) {
  mirrors h{mirroring(), with_words()};
  h.answer(h.mirror(1), 2);
  EXPECT_EQ(h.e.details.back(), "value");
  EXPECT_FALSE(h.policy.notes().contains("difference_1"));
}

TEST(canary_mirrors, are_described_so_often_in_each_stage) {
  mirrors h{describing(2), with_words()};
  auto differ = [&] {
    h.answer(h.mirror(1), 2);
    return h.e.details.back();
  };
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(differ(), "value: 1 is not 2");
    EXPECT_EQ(differ(), "value: 1 is not 2");
    EXPECT_EQ(differ(), "value");
    h.canary_answers(10);
    h.advance(10s);
  }
  EXPECT_EQ(h.policy.notes().size(), 1u + 4u);
  h.command(operator_command::reset);
  EXPECT_EQ(h.policy.notes().size(), 1u);
}

TEST(canary_mirrors, keep_the_last_ten_descriptions) {
  mirrors h{describing(100), with_words()};
  for (int i = 0; i < 12; ++i)
    h.answer(h.mirror(i), 100);
  auto notes = h.policy.notes();
  EXPECT_EQ(notes.at("difference_1"), "call 3: value: 2 is not 100");
  EXPECT_EQ(notes.at("difference_10"), "call 12: value: 11 is not 100");
  EXPECT_FALSE(notes.contains("difference_11"));
  // What went wrong is still to be seen after a rollback, but not after the
  // next start.
  h.canary_answers(10, failed());
  ASSERT_EQ(h.state(), "rolled_back");
  EXPECT_EQ(h.policy.notes().size(), 11u);
  h.command(operator_command::enable);
  h.to_canary();
  EXPECT_EQ(h.policy.notes().size(), 1u);
}

TEST(canary_mirrors, count_although_the_description_throws) {
  mirrors h{describing(9), with_words()};
  h.answer(h.mirror(1), 666);
  EXPECT_EQ(h.e.details.back(), "value");
  EXPECT_EQ(h.e.threw, strings{"describe: no words"});
  EXPECT_EQ(h.count("mirrors_differing"), 1);
  EXPECT_EQ(h.policy.notes().at("difference_1"), "call 1: value");
}

} // namespace
} // namespace caisson::test
