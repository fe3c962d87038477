// The table of a gate's calls, alone.
#include <caisson/base/random.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/call_table.hpp>
#include <caisson/engine/caller_watch.hpp>

#include <support/growth.hpp>
#include <support/times.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace caisson::detail {
namespace {

using namespace std::chrono_literals;
using test::at;

TEST(call_table, gives_the_lowest_place_and_never_the_same_id) {
  call_table t{2, 1};
  std::set<call_id> ids;
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(ids.insert(t.take().id).second);
  EXPECT_EQ(t.live(), 100u);
  auto& r = *t.at(17);
  auto old = r.id;
  t.put_back(r);
  EXPECT_EQ(t.find(old), nullptr);
  auto& again = t.take();
  EXPECT_EQ(again.index, 17u);
  EXPECT_TRUE(ids.insert(again.id).second);
  EXPECT_EQ(t.find(again.id), &again);
}

TEST(call_table, forgets_requests_that_share_a_number_one_by_one) {
  call_table t{1, 1};
  auto request = [&](std::uint64_t number) {
    auto& r = t.take();
    r.from = reply_slot{std::uint64_t{7}, true, false, 3, number};
    t.index(r);
    return &r;
  };
  std::vector<call_record*> same;
  for (int i = 0; i < 5; ++i) {
    same.push_back(request(9));
    request(static_cast<std::uint64_t>(100 + i));
  }
  for (auto i : {2, 4, 0, 1}) {
    t.unindex(*same[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(t.find_request(3, 9));
  }
  EXPECT_EQ(t.find_request(3, 9), same[3]);
  t.unindex(*same[3]);
  EXPECT_EQ(t.find_request(3, 9), nullptr);
  EXPECT_TRUE(t.find_request(3, 102));
}

// Another node chooses the numbers of its requests.
TEST(call_table, is_not_slowed_down_by_requests_that_share_a_number) {
  test::expect_linear(5'000, 40'000, [](int n) {
    call_table t{1, 1};
    std::vector<call_record*> all;
    for (int i = 0; i < n; ++i) {
      auto& r = t.take();
      r.from = reply_slot{std::uint64_t{7}, true, false, 3, 9};
      t.index(r);
      all.push_back(&r);
    }
    auto begin = test::thread_seconds();
    for (auto* r : all)
      t.unindex(*r);
    return test::thread_seconds() - begin;
  });
}

TEST(call_table, memory_follows_the_number_of_calls) {
  call_table t{3, 1};
  std::vector<call_record*> all;
  for (int i = 0; i < 10'000; ++i)
    all.push_back(&t.take());
  EXPECT_GE(t.places(), 10'000u);
  for (std::size_t i = all.size(); i-- > 1;)
    t.put_back(*all[i]);
  EXPECT_LE(t.places(), 16u);
  EXPECT_EQ(t.live(), 1u);
  // Also if it is the last one that stays.
  std::vector<call_record*> more;
  for (int i = 0; i < 10'000; ++i)
    more.push_back(&t.take());
  t.put_back(*all[0]);
  for (std::size_t i = 0; i + 1 < more.size(); ++i)
    t.put_back(*more[i]);
  EXPECT_LE(t.places(), 16u);
  EXPECT_EQ(t.find(more.back()->id), more.back());
}

TEST(call_table, counts_phases) {
  call_table t{0, 1};
  auto& a = t.take();
  auto& b = t.take();
  t.move_to(a, phase::held);
  t.move_to(b, phase::in_flight);
  EXPECT_EQ(t.in(phase::held), 1u);
  EXPECT_EQ(t.in(phase::in_flight), 1u);
  EXPECT_TRUE(t.none_moving());
  t.move_to(a, phase::moving);
  EXPECT_FALSE(t.none_moving());
  t.put_back(a);
  EXPECT_EQ(t.in(phase::held), 0u);
  EXPECT_TRUE(t.none_moving());
  EXPECT_NO_THROW(t.check());
}

// All that a record says, without what belongs to its place. The bindings name
// each member: one that is added must be named here, too.
std::string text_of(const call_record& r) {
  const call_info& info = r;
  const auto& [id, arrived, deadline, by_default, priority, permits, attempt,
               idempotent, written_back, user_priority, stands_for, key,
               idempotency_key]
    = info;
  const call_notes& notes = r;
  const auto& [hold_until, sent_at, timer_at, limit, begin_by, begins, timer,
               attempt_key, attempt_number, inside, executed, permit, watched,
               wait, target, next_indexed, previous_indexed, plan, sends, where,
               indexed, content_gone, at, depth, owner, rejected_by, lease,
               granted]
    = notes;
  auto ns = [](time_point t) { return t.time_since_epoch().count(); };
  return fmt::format(
    "{} {} {} {} {} {} {} {} {} {} {} {} {} / {} {} {} {} {} {} {} {} {} {} {} "
    "{} {} {} {} "
    "{} {} {} {} {} {} {} {} {} {} {} {} {} / {} {} {} {} {} {} {} {} {} {} {} "
    "{}",
    id != 0, ns(arrived), ns(deadline), by_default, priority, permits, attempt,
    idempotent == idempotence::unmarked, written_back, user_priority,
    stands_for, key, idempotency_key, ns(hold_until), ns(sent_at), ns(timer_at),
    ns(limit), ns(begin_by), ns(begins), timer == call_timers::handle{},
    attempt_key, attempt_number, inside, executed, permit, watched == nullptr,
    wait, target, next_indexed, previous_indexed, plan, sends, name_of(where),
    indexed, content_gone, at, depth, owner, rejected_by, lease, granted,
    r.from.expects_reply(), r.from.urgent(), r.from.remote(), r.from.caller(),
    r.from.number(), portable::refers(r.payload), portable::refers(r.reply),
    r.path.capacity(), r.children.capacity(), r.child == nullptr,
    r.trace == nullptr, r.key.capacity());
}

TEST(call_table, a_place_is_as_new_when_it_is_taken_again) {
  call_table t{0, 1};
  auto& r = t.take();
  auto fresh = text_of(r);
  auto used = at(5s);
  static_cast<call_info&>(r) = {r.id,  used, used, true,
                                7,     8,    9,    idempotence::yes,
                                true,  10,   11,   std::string(99, 'k'),
                                "once"};
  r.hold_until = r.sent_at = r.timer_at = r.limit = used;
  r.begin_by = r.begins = used;
  r.timer = {1, 2};
  r.attempt_key = r.attempt_number = r.may_have_executed = r.permit = 3;
  r.wait = 4;
  r.target = r.next_indexed = r.sends = 5;
  r.at = r.depth = r.owner = r.rejected_by = 6;
  r.lease = r.granted = true;
  r.from = {1, true, true, 2, 3};
  r.from.mark_remote();
  r.payload = caf::make_message(1);
  r.reply = caf::make_message(2);
  r.path = {1};
  r.child = std::make_unique<child_state>();
  r.trace = std::make_unique<call_trace>();
  t.put_back(r);
  auto& again = t.take();
  ASSERT_EQ(&again, &r);
  EXPECT_EQ(text_of(again), fresh);
}

// Takes and gives back at random, beside a map.
TEST(call_table, agrees_with_a_map) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    random_source random{seed};
    call_table t{1, seed};
    std::map<call_id, call_record*> model;
    for (int step = 0; step < 5'000; ++step) {
      // Grows and shrinks in turns.
      auto grow = (step / 500) % 2 == 0 ? 7u : 3u;
      if (model.empty() || random.below(10) < grow) {
        auto& r = t.take();
        ASSERT_TRUE(model.emplace(r.id, &r).second);
      } else {
        auto i = std::next(model.begin(), static_cast<std::ptrdiff_t>(
                                            random.below(model.size())));
        t.put_back(*i->second);
        ASSERT_EQ(t.find(i->first), nullptr);
        model.erase(i);
      }
      ASSERT_EQ(t.live(), model.size());
    }
    for (const auto& [id, r] : model)
      ASSERT_EQ(t.find(id), r);
    std::size_t seen = 0;
    t.for_each([&](call_record& r) { seen += model.contains(r.id) ? 1u : 0u; });
    EXPECT_EQ(seen, model.size());
  }
}

} // namespace
} // namespace caisson::detail
