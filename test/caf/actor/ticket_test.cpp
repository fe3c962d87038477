// Permits that release themselves.
#include "support/world.hpp"

#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/ticket.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

static_assert(!std::is_copy_constructible_v<ticket>);
static_assert(std::is_nothrow_move_constructible_v<ticket>);

// An actor with a ticket. An integer asks for a permit, for so many seconds. A
// text says what to do.
class holder final : public caf::event_based_actor {
public:
  holder(caf::actor_config& cfg, caf::actor desk)
    : caf::event_based_actor(cfg), desk_(std::move(desk)) {}

  caf::behavior make_behavior() override {
    return {[this](int secs) { ask(secs); },
            [this](const std::string& what) { act(what); }};
  }

private:
  void ask(int secs) {
    portable::ask(this, desk_, portable::no_timeout,
                  acquire{.time_left = std::chrono::seconds(secs)})
      .then(with_ticket(desk_, [this](ticket t) { held_ = std::move(t); }),
            [](const caf::error&) {});
  }

  void act(const std::string& what) {
    if (what == "release")
      held_.release();
    else if (what == "fail")
      held_.fail();
    else if (what == "ignore")
      held_.ignore();
    else if (what == "drop")
      held_ = ticket{};
    else if (what == "renew")
      portable::send(this, desk_, held_.renewal(10s));
    else if (what == "throw")
      throw_with(std::move(held_));
    else if (what == "quit")
      quit();
  }

  static void throw_with(ticket own_ticket) {
    auto t = std::move(own_ticket);
    throw std::runtime_error{"no luck"};
  }

  caf::actor desk_;
  ticket held_;
};

class ticket_test : public world_test {
protected:
  caf::actor desk(std::uint32_t permits = 1) {
    return gate(worker{}, stack{"desk"}.semaphore(
                            {.permits = permits, .max_waiters = 9}));
  }

  caf::actor make_holder(const caf::actor& g, int secs = 3600) {
    auto x = own(caf::actor_cast<caf::actor>(world.system().spawn<holder>(g)));
    world.send(x, secs);
    return x;
  }

  ticket lend(const caf::actor& g, duration d = 1h) {
    auto answer = world.request(g, acquire{.time_left = d});
    return {g, answer.value<permit>()};
  }

  std::int64_t in_use(const caf::actor& g) {
    world.run_until_idle();
    return metric_of(g, "semaphore", "in_use");
  }
};
CAISSON_ALL_ORDERS(ticket_test);

// -- ends ---------------------------------------------------------------------

TEST_P(ticket_test, each_way_to_end_it_notifies_the_gate_once) {
  struct row {
    std::string how;
    std::string counted;
  };
  for (const auto& x : std::vector<row>{{"release", "succeeded"},
                                        {"drop", "succeeded"},
                                        {"fail", "failed"},
                                        {"ignore", "released_neutral"}}) {
    auto g = desk();
    auto h = make_holder(g);
    EXPECT_EQ(in_use(g), 1);
    world.send(h, x.how);
    EXPECT_EQ(in_use(g), 0) << x.how;
    EXPECT_EQ(metric_of(g, x.counted), 1) << x.how;
    for (auto again : {"release", "fail", "ignore", "drop", "quit"})
      world.send(h, std::string{again});
    EXPECT_EQ(metric_of(g, "succeeded") + metric_of(g, "failed")
                + metric_of(g, "released_neutral"),
              1);
    EXPECT_EQ(metric_of(g, "no_such_permit"), 0) << x.how;
  }
}

TEST_P(ticket_test, the_next_one_gets_what_is_released) {
  auto g = desk();
  auto first = make_holder(g);
  auto second = make_holder(g);
  EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 1);
  world.send(first, std::string{"drop"});
  EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 0);
  EXPECT_EQ(in_use(g), 1);
}

TEST_P(ticket_test, an_exception_is_a_failure) {
  auto g = desk();
  auto h = make_holder(g);
  world.send(h, std::string{"throw"});
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "failed"), 1);
  EXPECT_EQ(metric_of(g, "succeeded"), 0);
}

TEST_P(ticket_test, an_exception_elsewhere_is_none) {
  auto g = desk();
  try {
    throw std::runtime_error{"elsewhere"};
  } catch (const std::runtime_error&) {
    // Made and ended while another exception is handled.
    auto t = lend(g);
  }
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "succeeded"), 1);
}

TEST_P(ticket_test, says_at_its_end_what_it_was_made_to) {
  auto g = desk();
  auto lent = world.request(g, acquire{}).value<permit>();
  {
    ticket t{g, lent, release_outcome::neutral};
    ticket other = std::move(t);
  }
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "released_neutral"), 1);
}

// -- the ends of others -------------------------------------------------------

TEST_P(ticket_test, survives_its_holders_end) {
  for (auto how : {"quit", "kill"}) {
    auto g = desk();
    auto h = make_holder(g);
    if (how == std::string{"kill"})
      world.kill(h);
    else
      world.send(h, std::string{how});
    h = nullptr;
    owned.pop_back();
    EXPECT_EQ(in_use(g), 0) << how;
    EXPECT_EQ(metric_of(g, "leases"), 0) << how;
    EXPECT_EQ(metric_of(g, "cancelled") + metric_of(g, "succeeded"), 1) << how;
  }
}

TEST_P(ticket_test, of_a_dead_holder_releases_nothing) {
  auto g = desk();
  auto holder = world.make_probe();
  auto lent = holder.request(g, acquire{});
  world.run_until_idle();
  ticket t{g, lent.value<permit>()};
  world.kill(holder.handle());
  auto other = lend(g);
  t.release();
  EXPECT_EQ(in_use(g), 1);
  EXPECT_EQ(metric_of(g, "no_such_permit"), 1);
  EXPECT_EQ(metric_of(g, "succeeded"), 0);
}

TEST_P(ticket_test, survives_the_end_of_its_gate) {
  auto g = desk();
  auto h = make_holder(g);
  auto own_ticket = lend(desk());
  world.kill(g);
  world.send(h, std::string{"fail"});
  world.send(h, std::string{"renew"});
  world.send(h, std::string{"quit"});
  EXPECT_TRUE(own_ticket);
}

TEST_P(ticket_test, that_comes_too_late_is_counted) {
  auto g = desk();
  auto t = lend(g, 5s);
  world.advance(5s);
  auto next = lend(g);
  EXPECT_TRUE(t);
  t.release();
  EXPECT_FALSE(t);
  EXPECT_EQ(in_use(g), 1);
  EXPECT_EQ(metric_of(g, "no_such_permit"), 1);
}

// -- moves --------------------------------------------------------------------

TEST_P(ticket_test, moves_and_is_released_by_the_last_who_has_it) {
  auto g = desk(2);
  auto a = lend(g);
  auto id = a.lent().id;
  ticket b{std::move(a)};
  EXPECT_FALSE(a); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.lent().id, id);
  a.release();
  EXPECT_EQ(in_use(g), 1);
  auto c = lend(g);
  EXPECT_EQ(in_use(g), 2);
  b = std::move(c);
  EXPECT_EQ(in_use(g), 1);
  auto& same = b;
  b = std::move(same);
  EXPECT_TRUE(b);
  EXPECT_EQ(in_use(g), 1);
  b = ticket{};
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "no_such_permit"), 0);
}

TEST_P(ticket_test, gives_its_permit_away) {
  auto g = desk();
  permit lent;
  {
    auto t = lend(g);
    lent = t.detach();
    EXPECT_FALSE(t);
  }
  EXPECT_EQ(in_use(g), 1);
  EXPECT_TRUE(world.request(g, release{lent.id}).ok());
}

TEST_P(ticket_test, holds_nothing_by_default) {
  ticket t;
  EXPECT_FALSE(t);
  EXPECT_EQ(t.lent().id, 0u);
  t.release();
  t.fail();
  ticket from_nothing{caf::actor{}, permit{7, 1s}};
  EXPECT_TRUE(from_nothing);
  from_nothing.release();
}

// -- renewal and handles ------------------------------------------------------

TEST_P(ticket_test, is_renewed_by_its_holder) {
  auto g = desk();
  auto h = make_holder(g, 5);
  world.advance(4s);
  world.send(h, std::string{"renew"});
  world.advance(10s - 1ns);
  EXPECT_EQ(in_use(g), 1);
  world.advance(1ns);
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "renewals"), 1);
}

TEST_P(ticket_test, works_through_a_call_handle) {
  auto g = desk();
  auto h = make_holder(call_handle{g});
  EXPECT_EQ(in_use(g), 1);
  world.send(h, std::string{"drop"});
  EXPECT_EQ(in_use(g), 0);
}

TEST_P(ticket_test, a_burst_of_them_ends_at_once) {
  constexpr auto n = 2000;
  auto g = desk(n);
  std::vector<ticket> all;
  for (int i = 0; i < n; ++i)
    all.push_back(lend(g));
  EXPECT_EQ(in_use(g), n);
  all.clear();
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "succeeded"), n);
}

} // namespace
} // namespace caisson::test
