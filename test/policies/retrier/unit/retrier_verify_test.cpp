// A retrier that verifies before it repeats.
#include <caisson/policies/retrier/retrier.hpp>

#include <policies/retrier/model/retrier_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

// Replies are pointers here, and the verifier says what the test wants.
struct keeper final : reply_store {
  void keep(call_id call, const outcome& o) override {
    if (o.reply)
      kept[call] = o.reply;
  }
  effect read(call_id call, const outcome& answer) override {
    if (!answer.ok)
      return effect::unknown;
    if (says == effect::done)
      kept[call] = &says;
    return says;
  }
  [[nodiscard]] bool has(call_id call) const override {
    return kept.contains(call);
  }
  void drop(call_id call) override { kept.erase(call); }

  std::map<call_id, const void*> kept;
  effect says = effect::unknown;
};

retrier_config careful() {
  auto c = simple_retrier();
  c.idempotent = false;
  return c;
}

class retrier_verify : public testing::Test {
protected:
  void start(retrier_config c = careful()) {
    h.emplace(std::move(c));
    h->policy.verify_with(k);
  }

  // The attempt fails, with or without a reply of the worker.
  void fail(call_id id, const void* with = nullptr) {
    auto o = worker_failed();
    o.reply = with;
    h->finish(id, o);
  }

  // The verifier answers; what was kept comes up if the retrier wants it.
  void say(call_id id, effect x) {
    ASSERT_EQ(h->where(id), place::redirected);
    k.says = x;
    h->finish(id);
    come_up(id);
  }

  void verification_fails(call_id id) {
    ASSERT_EQ(h->where(id), place::redirected);
    h->finish(id, outcome::failure(errc::deadline_exceeded, true));
    come_up(id);
  }

  void come_up(call_id id) {
    if (h->where(id) != place::redirected || !k.kept.contains(id)
        || h->calls.at(id).index != id)
      return;
    auto o = outcome::success();
    o.may_have_executed = false;
    o.reply = k.kept.at(id);
    o.ok = o.reply == &k.says;
    h->finish(id, o);
  }

  // Nothing is left of any call.
  void expect_clean() {
    EXPECT_TRUE(k.kept.empty());
    EXPECT_EQ(h->count("verifying"), 0);
    EXPECT_EQ(h->count("waiting"), 0);
  }

  keeper k;
  std::optional<retrier_rig> h;
  int reply = 0;
};

TEST_F(retrier_verify, does_not_verify_what_may_be_repeated) {
  start();
  call_info call;
  call.idempotent = idempotence::yes;
  auto id = h->arrive(call);
  EXPECT_EQ(backoff_after(*h, id), 10ms);
  auto other = h->arrive();
  EXPECT_EQ(backoff_after(*h, other, outcome::failure(errc::queue_full, false)),
            10ms);
  h->finish(other);
  EXPECT_EQ(h->count("verifications"), 0);
}

TEST_F(retrier_verify, does_not_verify_what_is_not_worth_another_attempt) {
  start();
  auto id = h->arrive();
  h->fail(id, errc::shed);
  EXPECT_EQ(h->where(id), place::passed);
  EXPECT_EQ(h->count("not_retryable"), 1);
  EXPECT_EQ(h->count("verifications"), 0);
}

// A conflict may be with what an earlier attempt did: never repeated blindly,
// and never taken for an answer, not even where a call may be repeated.
TEST_F(retrier_verify, a_conflict_is_verified_before_anything_else) {
  struct row {
    const char* what;
    effect says;
    place then;
    bool ok;
    int descents;
  };
  for (auto may_repeat : {false, true})
    for (const auto& x : {
           row{"done", effect::done, place::passed, true, 1},
           row{"not done", effect::not_done, place::held, false, 1},
         }) {
      SCOPED_TRACE(x.what);
      start();
      call_info call;
      call.idempotent = may_repeat ? idempotence::yes : idempotence::no;
      auto id = h->arrive(call);
      auto conflict = outcome::failure(errc::worker_down, true);
      conflict.kind = answer_class::conflict;
      conflict.reply = &reply;
      h->finish(id, conflict);
      EXPECT_EQ(h->where(id), place::redirected);
      EXPECT_EQ(h->count("verifications"), 1);
      EXPECT_EQ(h->count("retried"), 0);
      say(id, x.says);
      EXPECT_EQ(h->where(id), x.then);
      EXPECT_EQ(h->calls.at(id).descents, x.descents);
      if (x.then == place::passed) {
        EXPECT_EQ(h->calls.at(id).result.ok, x.ok);
      }
    }
}

TEST_F(retrier_verify, what_was_done_is_answered) {
  start();
  auto id = h->arrive();
  fail(id, &reply);
  EXPECT_EQ(h->count("verifying"), 1);
  say(id, effect::done);
  EXPECT_EQ(h->where(id), place::passed);
  auto& o = h->calls.at(id).result;
  EXPECT_TRUE(o.ok);
  EXPECT_TRUE(o.may_have_executed);
  EXPECT_EQ(o.reply, &k.says);
  EXPECT_EQ(h->count("found_done"), 1);
  EXPECT_EQ(h->calls.at(id).descents, 1);
  expect_clean();
}

TEST_F(retrier_verify, what_was_not_done_is_tried_again_after_its_backoff) {
  start();
  auto id = h->arrive();
  fail(id, &reply);
  h->advance(3ms);
  say(id, effect::not_done);
  EXPECT_EQ(wait_of(*h, id), 10ms);
  EXPECT_EQ(h->count("found_not_done"), 1);
  EXPECT_EQ(h->count("verifying"), 0);
  EXPECT_TRUE(k.kept.empty());
  h->advance(10ms);
  EXPECT_EQ(h->where(id), place::below);
  h->finish(id);
  EXPECT_EQ(h->count("recovered"), 1);
  expect_clean();
}

TEST_F(retrier_verify, a_pushback_is_known_after_verification) {
  start();
  auto id = h->arrive();
  h->finish(id, outcome::failure(errc::worker_down, true, 70ms));
  say(id, effect::not_done);
  EXPECT_EQ(wait_of(*h, id), 70ms);
  h->advance(70ms);
  h->finish(id, outcome::failure(errc::worker_down, true, -1ns));
  say(id, effect::not_done);
  EXPECT_EQ(h->where(id), place::passed);
  EXPECT_EQ(h->count("gave_up_pushback"), 1);
  expect_clean();
}

TEST_F(retrier_verify, it_asks_again_and_each_time_waits_twice_as_long) {
  auto c = careful();
  c.verify_attempts = 4;
  start(c);
  auto id = h->arrive();
  fail(id);
  for (auto pause : {100ms, 200ms, 400ms}) {
    say(id, effect::unknown);
    EXPECT_EQ(wait_of(*h, id), pause);
    h->advance(pause);
  }
  say(id, effect::unknown);
  EXPECT_EQ(h->where(id), place::passed);
  EXPECT_EQ(h->count("verifications"), 4);
  EXPECT_EQ(h->count("not_verified"), 1);
  EXPECT_EQ(h->calls.at(id).descents, 1);
  expect_clean();
}

TEST_F(retrier_verify, a_failed_verification_is_unknown) {
  start();
  auto id = h->arrive();
  fail(id, &reply);
  verification_fails(id);
  EXPECT_EQ(wait_of(*h, id), 100ms);
  h->advance(100ms);
  say(id, effect::done);
  EXPECT_TRUE(h->calls.at(id).result.ok);
  EXPECT_EQ(h->count("verifications"), 2);
}

// The first outcome goes up, not that of the verification.
TEST_F(retrier_verify, what_nobody_knows_goes_up_as_it_was) {
  for (bool has_reply : {false, true}) {
    auto c = careful();
    c.verify_attempts = 1;
    start(c);
    auto id = h->arrive();
    auto o = outcome::failure(errc::worker_down, true, 5s);
    o.reply = has_reply ? &reply : nullptr;
    h->finish(id, o);
    verification_fails(id);
    ASSERT_EQ(h->where(id), place::passed);
    auto& up = h->calls.at(id).result;
    EXPECT_TRUE(up.is(errc::worker_down));
    EXPECT_EQ(up.retry_after, 5s);
    EXPECT_EQ(up.reply, o.reply);
    EXPECT_TRUE(up.may_have_executed);
    EXPECT_FALSE(up.ok);
    expect_clean();
  }
}

TEST_F(retrier_verify, verifies_even_after_the_last_attempt) {
  auto c = careful();
  c.max_attempts = 2;
  start(c);
  for (auto found : {effect::done, effect::not_done}) {
    auto id = h->arrive();
    fail(id, &reply);
    say(id, effect::not_done);
    h->advance(10ms);
    fail(id, &reply);
    say(id, found);
    EXPECT_EQ(h->where(id), place::passed);
    EXPECT_EQ(h->calls.at(id).result.ok, found == effect::done);
  }
  EXPECT_EQ(h->count("found_done"), 1);
  EXPECT_EQ(h->count("gave_up_attempts"), 1);
  expect_clean();
}

TEST_F(retrier_verify, each_attempt_has_all_its_verifications) {
  auto c = careful();
  c.verify_attempts = 2;
  start(c);
  auto id = h->arrive();
  for (int i = 0; i < 3; ++i) {
    fail(id);
    say(id, effect::unknown);
    h->advance(100ms);
    say(id, effect::not_done);
    h->advance(10ms);
  }
  EXPECT_EQ(h->where(id), place::below);
  EXPECT_EQ(h->count("verifications"), 6);
}

TEST_F(retrier_verify, verification_has_a_time_limit) {
  start();
  auto id = h->arrive_with(1h);
  fail(id);
  ASSERT_EQ(h->e.children.size(), 1u);
  EXPECT_EQ(h->e.children[0].target, 0u);
  EXPECT_EQ(h->e.children[0].parents, std::vector{id});
  EXPECT_EQ(h->e.children[0].deadline, h->e.now + 1s);
}

TEST_F(retrier_verify, begins_no_pause_that_ends_at_the_deadline) {
  for (auto [left, verifies] : std::vector<std::pair<duration, bool>>{
         {100ms, false}, {100ms + 1ns, true}}) {
    start();
    auto id = h->arrive_with(left);
    fail(id);
    say(id, effect::unknown);
    EXPECT_EQ(h->where(id), verifies ? place::held : place::passed);
    EXPECT_EQ(h->count("not_verified"), verifies ? 0 : 1);
  }
}

TEST_F(retrier_verify, does_not_verify_when_the_time_is_over) {
  start();
  auto id = h->arrive_with(5ms);
  h->advance(5ms);
  fail(id);
  EXPECT_EQ(h->where(id), place::passed);
  EXPECT_EQ(h->count("gave_up_deadline"), 1);
  EXPECT_EQ(h->count("verifications"), 0);
}

TEST_F(retrier_verify, forgets_a_call_that_is_taken_away_meanwhile) {
  start();
  auto verified = h->arrive();
  fail(verified, &reply);
  h->abandon(verified);
  EXPECT_EQ(h->count("abandoned"), 1);
  expect_clean();
  auto pausing = h->arrive();
  fail(pausing, &reply);
  verification_fails(pausing);
  h->abandon(pausing);
  EXPECT_EQ(h->count("abandoned_waiting"), 1);
  expect_clean();
  h->advance(1s);
  EXPECT_EQ(h->count("verifications"), 2);
}

TEST_F(retrier_verify, counts_a_call_once_that_ends_with_its_reply_on_the_way) {
  start();
  auto id = h->arrive();
  fail(id, &reply);
  k.says = effect::done;
  h->finish(id);
  ASSERT_EQ(h->where(id), place::redirected);
  h->abandon(id);
  EXPECT_EQ(h->count("found_done"), 1);
  EXPECT_EQ(h->count("abandoned"), 0);
  expect_clean();
}

TEST_F(retrier_verify, without_a_verifier_nothing_is_repeated) {
  retrier_rig plain{careful()};
  auto id = plain.arrive();
  plain.fail(id);
  EXPECT_EQ(plain.where(id), place::passed);
  EXPECT_EQ(plain.count("not_idempotent"), 1);
}

} // namespace
} // namespace caisson::test
