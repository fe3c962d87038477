// Events of gates, in functions, JSON lines and CAF's log.
#include "support/world.hpp"

#include <caisson/observe/event_log.hpp>
#include <caisson/settings/problem.hpp>

#include <support/local_proxy.hpp>
#include <support/scratch.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <thread>

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace caisson::test {
namespace {

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    out.push_back(line);
  return out;
}

event event_number(std::uint64_t n) {
  event x;
  x.number = n;
  x.gate = "gate";
  return x;
}

/// Holds up the thread of a log until it is opened.
class barrier {
public:
  void pass() {
    std::unique_lock lock{mutex_};
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }

  void await_arrival() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return arrived_ > 0; });
  }

  void open() {
    std::lock_guard lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

/// Takes no second line before its barrier is open.
class stuck_buffer : public std::stringbuf {
public:
  explicit stuck_buffer(barrier& b) : barrier_(b) {}

protected:
  int sync() override {
    barrier_.pass();
    return 0;
  }

private:
  barrier& barrier_;
};

/// A disk that is full for a while.
class limited_buffer : public std::streambuf {
public:
  std::string text;
  std::atomic<std::size_t> room{0};

protected:
  int overflow(int c) override {
    if (text.size() >= room)
      return traits_type::eof();
    text += static_cast<char>(c);
    return c;
  }
};

class event_log_test : public world_test {
protected:
  control_handle breaker_gate(const std::string& name) {
    auto w = make_worker(
      scripted_worker::always(caf::make_error(caf::sec::end_of_stream)));
    return control_handle{
      gate(w.handle(), stack{name}.breaker({.threshold = 1}))};
  }

  /// Lets a breaker open, which is one event.
  void trip(const control_handle& g) { world.request(g, 1); }

  void follow(event_log& log, const control_handle& g) {
    log.follow(g);
    world.run_until_idle();
  }
};
CAISSON_ALL_ORDERS(event_log_test);

TEST_P(event_log_test, calls_a_function_with_the_events_of_several_gates) {
  std::vector<event> seen;
  auto log = event_log::to_function(
    world, [&](const event& x, utc_time) { seen.push_back(x); });
  auto a = breaker_gate("a");
  auto b = breaker_gate("b");
  auto c = breaker_gate("c");
  follow(log, a);
  follow(log, b);
  trip(a);
  trip(c);
  trip(b);
  world.request(b, 2);
  log.flush();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].gate, "a");
  EXPECT_EQ(seen[0].to, "open");
  EXPECT_EQ(seen[1].gate, "b");
  EXPECT_EQ(seen[2].kind, event_kind::rejected);
  EXPECT_EQ(log.written(), 3u);
  EXPECT_EQ(log.dropped(), 0u);
}

TEST_P(event_log_test, takes_virtual_time_for_real_time_from_its_start_on) {
  std::vector<utc_time> at;
  auto before = std::chrono::system_clock::now();
  auto log = event_log::to_function(
    world, [&](const event&, utc_time t) { at.push_back(t); });
  auto after = std::chrono::system_clock::now();
  auto a = breaker_gate("a");
  auto b = breaker_gate("b");
  follow(log, a);
  follow(log, b);
  trip(a);
  world.advance(24h);
  trip(b);
  log.flush();
  ASSERT_EQ(at.size(), 2u);
  EXPECT_GE(at[0], before);
  EXPECT_LE(at[0], after);
  EXPECT_EQ(at[1] - at[0], 24h);
}

TEST_P(event_log_test, takes_no_id_that_an_actor_would_have) {
  auto next_id = [&] { return make_worker().handle().id(); };
  auto a = next_id();
  auto usual = next_id() - a;
  auto log = event_log::to_function(world, [](const event&, utc_time) {});
  EXPECT_EQ(next_id(), a + 2 * usual);
}

TEST_P(event_log_test, survives_a_function_that_throws) {
  int calls = 0;
  auto log = event_log::to_function(world, [&](const event& x, utc_time) {
    ++calls;
    if (x.number == 2)
      throw std::runtime_error{"two"};
    if (x.number == 3)
      throw 3;
  });
  for (std::uint64_t n = 1; n <= 4; ++n)
    log.listener()(event_number(n));
  log.flush();
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(log.written(), 2u);
  EXPECT_EQ(log.failed(), 2u);
}

TEST_P(event_log_test, writes_json_lines) {
  std::ostringstream out;
  auto log = event_log::to_stream(world, out);
  auto g = breaker_gate("pay\"ments");
  follow(log, g);
  trip(g);
  log.close();
  std::istringstream in{out.str()};
  auto lines = lines_of(in);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(R"("gate":"pay\"ments","number":1,)"
                                  R"("kind":"state_changed","layer":"breaker",)"
                                  R"("from":"closed","to":"open")"));
}

TEST_P(event_log_test, appends_to_a_file) {
  scratch_dir dir;
  auto path = (dir / "events.jsonl").string();
  for (int run = 0; run < 2; ++run) {
    auto log = event_log::to_file(world, path);
    log.listener()(event_number(7));
  }
  std::ifstream in{path};
  auto lines = lines_of(in);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[1], HasSubstr("\"number\":7"));
}

TEST_P(event_log_test, needs_a_file_that_can_be_opened) {
  try {
    (void)event_log::to_file(world, "/nowhere/events.jsonl");
    ADD_FAILURE();
  } catch (const config_error& e) {
    ASSERT_EQ(e.all().size(), 1u);
    EXPECT_EQ(e.all()[0].kind, problem_kind::unknown);
    EXPECT_EQ(e.all()[0].key, setting_path{"path"});
    EXPECT_EQ(e.all()[0].place, "/nowhere/events.jsonl");
  }
}

TEST_P(event_log_test, checks_its_settings) {
  for (std::uint32_t n : {0u, 1'000'001u})
    EXPECT_THROW((void)event_log::to_caf(world, {.backlog = n}), config_error);
}

TEST_P(event_log_test, drops_and_counts_what_is_too_much) {
  barrier busy;
  stuck_buffer buffer{busy};
  std::ostream out{&buffer};
  auto log = event_log::to_stream(world, out, {.backlog = 3});
  auto offer = log.listener();
  offer(event_number(1));
  busy.await_arrival();
  // The one being written counts.
  for (std::uint64_t n = 2; n <= 6; ++n)
    offer(event_number(n));
  EXPECT_EQ(log.dropped(), 3u);
  busy.open();
  log.flush();
  offer(event_number(7));
  log.close();
  std::istringstream in{buffer.str()};
  auto lines = lines_of(in);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[2], HasSubstr("\"number\":3"));
  EXPECT_THAT(lines[3], HasSubstr(R"("kind":"dropped","dropped":3})"));
  EXPECT_THAT(lines[4], HasSubstr("\"number\":7"));
  EXPECT_EQ(log.written(), 4u);
}

TEST_P(event_log_test, goes_on_once_the_stream_takes_lines_again) {
  limited_buffer buffer;
  std::ostream out{&buffer};
  auto log = event_log::to_stream(world, out);
  auto offer = log.listener();
  buffer.room = 20;
  offer(event_number(1));
  offer(event_number(2));
  log.flush();
  EXPECT_EQ(log.failed(), 2u);
  buffer.room = 1'000'000;
  offer(event_number(3));
  offer(event_number(4));
  log.close();
  EXPECT_EQ(log.written(), 2u);
  std::istringstream in{buffer.text};
  auto lines = lines_of(in);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].size(), 20u);
  EXPECT_THAT(lines[1], StartsWith("{\"time\""));
  EXPECT_THAT(lines[1], HasSubstr("\"number\":3"));
  EXPECT_THAT(lines[2], HasSubstr("\"number\":4"));
}

TEST_P(event_log_test, a_burst_of_senders_loses_nothing_uncounted) {
  std::uint64_t seen = 0;
  auto log = event_log::to_function(
    world, [&](const event&, utc_time) { ++seen; }, {.backlog = 100});
  constexpr int senders = 4;
  constexpr std::uint64_t each = 5'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < senders; ++i)
    threads.emplace_back([offer = log.listener()] {
      for (std::uint64_t n = 0; n < each; ++n)
        offer(event_number(n));
    });
  for (auto& x : threads)
    x.join();
  log.close();
  EXPECT_EQ(seen, log.written());
  EXPECT_EQ(log.written() + log.dropped(), senders * each);
}

TEST_P(event_log_test, ends_with_what_waits_and_takes_no_more) {
  std::vector<std::uint64_t> seen;
  auto log = event_log::to_function(
    world, [&](const event& x, utc_time) { seen.push_back(x.number); });
  auto offer = log.listener();
  auto g = breaker_gate("a");
  follow(log, g);
  EXPECT_EQ(metric_of(g, "subscribers"), 1);
  for (std::uint64_t n = 10; n < 13; ++n)
    offer(event_number(n));
  log.close();
  EXPECT_THAT(seen, ElementsAre(10u, 11u, 12u));
  offer(event_number(13));
  log.flush();
  log.close();
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "subscribers"), 0);
  trip(g);
  EXPECT_EQ(seen.size(), 3u);
}

TEST_P(event_log_test, may_be_flushed_and_ended_by_its_own_function) {
  std::optional<event_log> log;
  std::atomic<int> calls{0};
  log = event_log::to_function(world, [&](const event&, utc_time) {
    log->flush();
    log.reset();
    ++calls;
  });
  auto offer = log->listener();
  offer(event_number(1));
  while (calls == 0)
    std::this_thread::yield();
  offer(event_number(2));
}

TEST_P(event_log_test, can_be_moved) {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
  auto a = event_log::to_function(
    world, [&](const event& x, utc_time) { first.push_back(x.number); });
  auto b = event_log::to_function(
    world, [&](const event& x, utc_time) { second.push_back(x.number); });
  b.listener()(event_number(1));
  b = std::move(a);
  EXPECT_THAT(second, ElementsAre(1u));
  b.listener()(event_number(2));
  auto c = std::move(b);
  c.flush();
  EXPECT_THAT(first, ElementsAre(2u));
}

TEST_P(event_log_test, does_nothing_when_it_has_been_moved_from) {
  auto a = event_log::to_function(world, [](const event&, utc_time) {});
  auto b = std::move(a);
  b.listener()(event_number(1));
  a.flush();
  a.listener()(event_number(2));
  a.close();
  EXPECT_EQ(a.written() + a.dropped() + a.failed(), 0u);
  b.flush();
  EXPECT_EQ(b.written(), 1u);
}

TEST_P(event_log_test, listens_to_local_gates) {
  std::vector<event> seen;
  auto log = event_log::to_function(
    world, [&](const event& x, utc_time) { seen.push_back(x); });
  auto w = make_worker();
  world.system().spawn(
    [&, listener = log.listener()](caf::event_based_actor* self) {
      auto g = std::make_shared<local_gate<>>(
        self, worker{w.handle()}, stack{"local"}.semaphore({.permits = 1}));
      g->on_event(listener);
      for (int i = 0; i < 2; ++i)
        g->request(i).then([g](int) {}, [](caf::error&) {});
    });
  world.run_until_idle();
  log.flush();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].gate, "local");
  EXPECT_EQ(seen[0].kind, event_kind::rejected);
  w.answer(1);
}

TEST_P(event_log_test, a_flush_does_not_wait_for_what_comes_after_it) {
  std::atomic<bool> flushed{false};
  std::atomic<bool> gave_up{false};
  std::function<void(const event&)> offer;
  auto until = std::chrono::steady_clock::now() + 20s;
  auto log = event_log::to_function(world, [&](const event&, utc_time) {
    if (flushed || gave_up)
      return;
    gave_up = std::chrono::steady_clock::now() > until;
    // There is always another one.
    offer(event_number(2));
  });
  offer = log.listener();
  offer(event_number(1));
  log.flush();
  flushed = true;
  EXPECT_FALSE(gave_up);
  EXPECT_GE(log.written(), 1u);
  log.close();
}

TEST_P(event_log_test, forgets_nothing_that_is_not_an_event) {
  auto log = event_log::to_function(world, [](const event&, utc_time) {});
  auto g = breaker_gate("a");
  follow(log, g);
  world.kill(g);
  log.flush();
  EXPECT_EQ(log.written() + log.failed() + log.dropped(), 0u);
  // One without a gate.
  log.follow(control_handle{});
}

TEST(event_log, writes_to_the_log_of_caf) {
  init_types();
  scratch_dir dir;
  auto path = (dir / "caf.log").string();
  caf::actor_system_config cfg;
#if CAISSON_CAF_LEGACY
  cfg.set("logger.verbosity", caf::atom("info"));
  cfg.set("logger.file-name", path);
#else
  cfg.set("caf.logger.file.verbosity", "info");
  cfg.set("caf.logger.file.path", path);
#endif
  {
    caf::actor_system sys{cfg};
    auto log = event_log::to_caf(sys);
    auto offer = log.listener();
    for (auto [kind, to] : {std::pair{event_kind::state_changed, "open"},
                            {event_kind::state_changed, "closed"},
                            {event_kind::worker_changed, "down\n"},
                            {event_kind::call_ended, "ok"}}) {
      auto x = event_number(1);
      x.kind = kind;
      x.to = to;
      offer(x);
    }
  }
  std::ifstream in{path};
  auto lines = lines_of(in);
  ASSERT_EQ(lines.size(), 3u);
  auto level = [](const char* name, const char* end) {
    return testing::AllOf(HasSubstr(name), HasSubstr("caisson"),
                          testing::EndsWith(end));
  };
  EXPECT_THAT(lines,
              ElementsAre(level("WARN", "gate: state_changed open"),
                          level("INFO", "gate: state_changed closed"),
                          level("WARN", "gate: worker_changed down\\x0a")));
}

} // namespace
} // namespace caisson::test
