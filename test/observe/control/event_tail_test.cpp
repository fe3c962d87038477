// The last events, for those who follow them.
#include <observe/control/control_fixture.hpp>

#include <atomic>
#include <thread>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class event_tail_test : public control_test {
protected:
  event_tail_test() { start(two_gates); }

  // Each is one event of the breaker and one of the gate.
  void force(const char* command) {
    caf::scoped_actor self{*sys};
    portable::ask_blocking(
      self, gates.find("payments"), patience,
      caisson::command{*operator_command_named(command), "breaker"})
      .receive([](const status&) {},
               [&](const caf::error& x) {
                 ADD_FAILURE() << portable::render(*sys, x);
               });
  }

  const detail::event_tail::gate_list all = [this] {
    return std::vector<control_handle>{gates.find("payments")};
  };
};

TEST_F(event_tail_test, begins_at_the_end_and_reports_each_event_once) {
  detail::event_tail tail{*sys, 100};
  auto at = tail.read(all, {}, 0s);
  EXPECT_TRUE(at.lines.empty());
  force("force_open");
  force("enable");
  std::vector<std::string> seen;
  while (seen.size() < 4) {
    at = tail.read(all, at.next, 10s);
    ASSERT_FALSE(at.lines.empty()) << "it waits for events";
    EXPECT_EQ(at.missed, 0u);
    seen.insert(seen.end(), at.lines.begin(), at.lines.end());
  }
  ASSERT_EQ(seen.size(), 4u);
  auto first = json::parse(seen.front());
  EXPECT_EQ(first["event"]["to"], "forced_open");
  EXPECT_EQ(first["text"], "payments/breaker: state_changed closed -> "
                           "forced_open (forced open)");
  EXPECT_TRUE(tail.read(all, at.next, 0s).lines.empty());
}

TEST_F(event_tail_test, says_how_many_were_missed) {
  detail::event_tail tail{*sys, 3};
  auto begin = tail.read(all, {}, 0s).next;
  for (int i = 0; i < 5; ++i)
    force(i % 2 == 0 ? "force_open" : "enable");
  // Reads until all ten have come.
  while (tail.read(all, {}, 0s).next.events < begin.events + 10)
    std::this_thread::yield();
  auto got = tail.read(all, begin, 0s);
  EXPECT_EQ(got.missed, 7u);
  EXPECT_EQ(got.lines.size(), 3u);
}

TEST_F(event_tail_test, follows_nobody_once_it_is_forgotten) {
  detail::event_tail tail{*sys, 100, 1ns};
  auto begin = tail.read(all, {}, 0s).next;
  auto subscribers = [&] {
    return look(gates.find("payments")).metric("subscribers");
  };
  while (subscribers() != 1)
    std::this_thread::yield();
  // The next event finds that nobody has asked.
  force("force_open");
  while (subscribers() != 0)
    std::this_thread::yield();
  force("enable");
  // Whoever comes back cannot know what has happened.
  auto again = tail.read(all, begin, 0s);
  EXPECT_EQ(again.missed, std::nullopt);
  EXPECT_NE(again.next.period, begin.period);
  while (subscribers() != 1)
    std::this_thread::yield();
}

// The thread that reports events finds by itself that nobody wants them, and
// still has some to report.
TEST_F(event_tail_test, waits_for_its_thread_also_once_it_is_forgotten) {
  for (int i = 0; i < 20; ++i) {
    auto tail = std::make_unique<detail::event_tail>(*sys, 100, 1ns);
    static_cast<void>(tail->read(all, {}, 0s));
    while (look(gates.find("payments")).metric("subscribers") != 1)
      std::this_thread::yield();
    for (int k = 0; k < 200; ++k)
      caf::anon_send(gates.find("payments"),
                     command{k % 2 == 0 ? operator_command::force_open
                                        : operator_command::enable});
    while (look(gates.find("payments")).metric("subscribers") != 0)
      std::this_thread::yield();
    tail.reset();
    // Or what is left would end the next one before it is seen.
    force("enable");
  }
}

TEST_F(event_tail_test, a_position_of_another_process_is_none) {
  detail::event_tail tail{*sys, 100};
  auto got = tail.read(all, detail::event_tail::position{1, 1'000'000, 7}, 0s);
  EXPECT_EQ(got.missed, std::nullopt);
  auto next = got.next;
  next.events += 1'000;
  EXPECT_EQ(tail.read(all, next, 0s).next.events, got.next.events);
}

TEST_F(event_tail_test, a_gate_that_is_added_is_followed_meanwhile) {
  detail::event_tail tail{*sys, 100};
  auto gate = spawn_gate(*sys, worker{}, stack{"other"}.breaker());
  // It is not there at the beginning of either reading.
  auto asked = 0;
  detail::event_tail::gate_list some = [&] {
    return ++asked > 2 ? std::vector{gate} : std::vector<control_handle>{};
  };
  auto begin = tail.read(some, {}, 0s).next;
  std::thread adding{[&] {
    while (look(gate).metric("subscribers") == 0)
      std::this_thread::yield();
    caf::anon_send(gate, command{operator_command::force_open});
  }};
  EXPECT_FALSE(tail.read(some, begin, 1h).lines.empty());
  adding.join();
  stop_gate(gate);
}

TEST_F(event_tail_test, those_who_wait_go_when_it_ends) {
  detail::event_tail tail{*sys, 100};
  auto begin = tail.read(all, {}, 0s).next;
  std::thread closing{[&] { tail.close(); }};
  EXPECT_TRUE(tail.read(all, begin, 1h).lines.empty());
  closing.join();
}

TEST_F(event_tail_test, many_may_read_while_gates_come_and_go) {
  detail::event_tail tail{*sys, 10, 1us};
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      std::optional<detail::event_tail::position> at;
      while (!done)
        at = tail.read(all, at, 1ms).next;
    });
  for (int i = 0; i < 300; ++i) {
    auto gate = spawn_gate(*sys, worker{}, stack{"other"}.breaker());
    static_cast<void>(tail.read([&] { return std::vector{gate}; }, {}, 0s));
    force(i % 2 == 0 ? "force_open" : "enable");
    stop_gate(gate);
  }
  done = true;
  for (auto& x : readers)
    x.join();
  // It still follows those who stay.
  std::thread forcing{[&] {
    for (int i = 0; i < 20; ++i)
      force("reset");
  }};
  auto at = tail.read(all, {}, 0s).next;
  while (tail.read(all, at, 10ms).lines.empty())
    force("reset");
  forcing.join();
}

} // namespace
} // namespace caisson::test
