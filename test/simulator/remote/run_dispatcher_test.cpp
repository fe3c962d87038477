// The dispatcher of a sweep for one worker, in virtual time.
#include <support/remote_rig.hpp>

#include <simulator/remote/run_dispatcher.hpp>

#include <caisson/testing/scripted_worker.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using reply = scripted_worker::reply;
using texts = std::vector<std::string>;

job_state staged(job_stage s, std::string text = {}) {
  job_state out;
  out.stage = s;
  out.text = std::move(text);
  return out;
}

// A dispatcher and a worker that does what the test says; by default it
// executes each run within two questions.
class run_dispatcher_test : public testing::Test {
protected:
  run_dispatcher_test() {
    on_hello = [this] {
      return reply::value(handshake_reply{test_build, cores});
    };
    on_job = [](const run_job&) {
      return reply::value(staged(job_stage::running));
    };
    on_query = [this](const std::string& id) {
      auto state = staged(job_stage::running);
      state.permille = 400;
      if (++asked[id] == 2)
        state = staged(job_stage::done, "result of " + id);
      return reply::value(state).after(100ms);
    };
    on_part = [](const recording_part& x) {
      auto have = x.offset + x.text.size();
      return reply::value(recording_progress{have, have == x.size, {}});
    };
    far.become([this](const caf::message& x) -> reply {
      if (portable::holds<handshake_request>(x))
        return on_hello();
      if (auto job = portable::get_if<run_job>(x)) {
        EXPECT_EQ(job->build, test_build);
        jobs.push_back(job->id);
        return on_job(*job);
      }
      if (auto q = portable::get_if<job_query>(x))
        return on_query(q->id);
      if (auto part = portable::get_if<recording_part>(x)) {
        parts.push_back(*part);
        return on_part(*part);
      }
      if (auto drop = portable::get_if<job_drop>(x))
        dropped.push_back(drop->id);
      return reply::value(job_state{});
    });
  }

  ~run_dispatcher_test() override {
    if (dispatcher)
      world.kill(dispatcher);
  }

  void start() {
    run_dispatcher_config c;
    c.build = test_build;
    c.sweep = "s";
    dispatcher = caf::actor_cast<caf::actor>(
      world.system().spawn<run_dispatcher>(
        far.handle(), c, std::ref<run_source>(source), record));
    world.run_until_idle();
  }

  [[nodiscard]] worker_presence presence() const {
    return record->view().presence;
  }

  remote_test_config config;
  virtual_time world{config};
  scripted_worker far{world};
  scripted_source source{5};
  std::shared_ptr<worker_record> record = std::make_shared<worker_record>(
    "w:1");
  caf::actor dispatcher;

  std::uint32_t cores = 2;
  std::function<reply()> on_hello;
  std::function<reply(const run_job&)> on_job;
  std::function<reply(const std::string&)> on_query;
  std::function<reply(const recording_part&)> on_part;
  std::map<std::string, int> asked;
  texts jobs;
  texts dropped;
  std::vector<recording_part> parts;
};

TEST_F(run_dispatcher_test,
       executes_all_runs_as_many_at_a_time_as_there_are_cores) {
  start();
  EXPECT_EQ(presence(), worker_presence::connected);
  EXPECT_EQ(record->view().cores, 2u);
  EXPECT_EQ(jobs, (texts{"s-0", "s-1"}));
  world.advance(199ms);
  EXPECT_EQ(jobs.size(), 2u);
  EXPECT_EQ(source.shares[0], (std::vector{0.0, 0.4}));
  world.advance(2s);
  EXPECT_EQ(jobs, (texts{"s-0", "s-1", "s-2", "s-3", "s-4"}));
  ASSERT_EQ(source.results.size(), 5u);
  for (const auto& [run, all] : source.results)
    EXPECT_EQ(all, texts{"result of s-" + std::to_string(run)});
  EXPECT_EQ(record->view().played, 5u);
  EXPECT_EQ(source.back, texts{});
}

// The last result ends the sweep, which then prints who has run.
TEST_F(run_dispatcher_test, counts_a_result_before_it_delivers_it) {
  std::vector<std::uint64_t> counted;
  source.on_result = [&] { counted.push_back(record->view().played); };
  cores = 1;
  start();
  world.advance(10s);
  EXPECT_EQ(counted, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  on_query = [](const std::string&) {
    return reply::value(staged(job_stage::done));
  };
  source.open.insert(7);
  world.advance(500ms);
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_EQ(record->view().played, 5u);
}

TEST_F(run_dispatcher_test, looks_for_runs_that_come_back) {
  start();
  world.advance(10s);
  source.open.insert(7);
  world.advance(1s);
  EXPECT_EQ(jobs.back(), "s-7");
}

TEST_F(run_dispatcher_test, greets_until_there_is_an_answer) {
  auto tries = 0;
  on_hello = [&] {
    if (++tries < 4)
      return reply::error(make_error(errc::worker_down));
    return reply::value(handshake_reply{test_build, 1});
  };
  start();
  EXPECT_EQ(presence(), worker_presence::expected);
  EXPECT_EQ(record->view().text, "the connection is gone");
  world.advance(2s);
  EXPECT_EQ(jobs, texts{});
  world.advance(1s);
  EXPECT_EQ(presence(), worker_presence::connected);
  EXPECT_EQ(jobs, texts{"s-0"});
}

TEST_F(run_dispatcher_test, gives_all_runs_back_when_one_query_fails) {
  on_query = [&](const std::string& id) {
    if (id == "s-0")
      return reply::error(make_error(errc::deadline_exceeded)).after(50ms);
    return reply::value(staged(job_stage::done, "late")).after(60ms);
  };
  start();
  world.advance(50ms);
  EXPECT_EQ(source.back, (texts{"0 lost", "1 lost"}));
  EXPECT_EQ(presence(), worker_presence::disconnected);
  EXPECT_EQ(record->view().text, "no answer in time");
  world.advance(500ms);
  EXPECT_TRUE(source.results.empty()) << "a late answer counts for nothing";
  // When the worker is back it gets runs again.
  on_query = [&](const std::string&) {
    return reply::value(staged(job_stage::done, "x"));
  };
  world.advance(1s);
  EXPECT_EQ(presence(), worker_presence::connected);
  EXPECT_EQ(source.results.size(), 5u);
  for (const auto& [run, all] : source.results)
    EXPECT_EQ(all.size(), 1u) << run;
}

TEST_F(run_dispatcher_test, does_not_lose_a_worker_again_by_a_late_error) {
  on_query = [&](const std::string& id) {
    auto late = id == "s-0" ? 50ms : 2500ms;
    return reply::error(make_error(errc::deadline_exceeded)).after(late);
  };
  start();
  world.advance(50ms);
  EXPECT_EQ(source.back, (texts{"0 lost", "1 lost"}));
  // It has them again when the error of the first time comes.
  on_query = [&](const std::string&) {
    return reply::value(staged(job_stage::done, "x")).after(2s);
  };
  world.advance(10s);
  EXPECT_EQ(source.back.size(), 2u);
  EXPECT_EQ(source.results.size(), 5u);
}

TEST_F(run_dispatcher_test, does_not_blame_a_run_that_was_not_begun) {
  on_job = [](const run_job&) {
    return reply::error(make_error(errc::worker_down));
  };
  start();
  EXPECT_EQ(source.back, (texts{"0 not begun", "1 not begun"}));
}

TEST_F(run_dispatcher_test, gives_runs_back_when_the_worker_was_restarted) {
  on_query = [&](const std::string&) {
    return reply::value(staged(job_stage::unknown)).after(10ms);
  };
  start();
  world.advance(10ms);
  EXPECT_EQ(source.back, (texts{"0 lost", "1 lost"}));
}

TEST_F(run_dispatcher_test, does_not_use_another_build) {
  on_hello = [] {
    return reply::value(handshake_reply{{"1.2.3", "q", "a"}, 4});
  };
  start();
  world.advance(5s);
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_TRUE(record->view().text.starts_with("it is another build"));
  EXPECT_EQ(jobs, texts{});
  // Until it has been replaced.
  on_hello = [] { return reply::value(handshake_reply{test_build, 1}); };
  world.advance(1s);
  EXPECT_EQ(presence(), worker_presence::connected);
  EXPECT_EQ(jobs, texts{"s-0"});
}

TEST_F(run_dispatcher_test, notices_that_the_worker_has_become_another_build) {
  on_job = [](const run_job&) {
    return reply::value(staged(job_stage::other_build));
  };
  start();
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_EQ(record->view().text, "it is another build now");
}

TEST_F(run_dispatcher_test, does_not_use_what_is_no_worker) {
  for (auto answer : {reply::value(std::string{"?"}), reply::value(job_state{}),
                      reply::error(caf::sec::unexpected_message)}) {
    on_hello = [answer] { return answer; };
    if (dispatcher)
      world.advance(1s);
    else
      start();
    EXPECT_EQ(presence(), worker_presence::refused);
    EXPECT_EQ(record->view().text, "it is not a Caisson worker");
  }
  EXPECT_EQ(jobs, texts{});
}

TEST_F(run_dispatcher_test, tries_a_busy_worker_again_later) {
  on_job = [](const run_job&) { return reply::value(staged(job_stage::busy)); };
  start();
  world.advance(900ms);
  EXPECT_EQ(presence(), worker_presence::connected);
  EXPECT_LE(jobs.size(), 2u) << "not over and over";
  EXPECT_EQ(source.back.at(0), "0 not begun");
  on_job = [](const run_job&) {
    return reply::value(staged(job_stage::running));
  };
  world.advance(5s);
  EXPECT_EQ(source.results.size(), 5u);
}

TEST_F(run_dispatcher_test, blames_a_run_for_which_there_is_no_memory) {
  on_query = [&](const std::string&) {
    return reply::value(staged(job_stage::failed)).after(10ms);
  };
  start();
  world.advance(10ms);
  EXPECT_EQ(source.back, (texts{"0 lost", "1 lost"}));
  EXPECT_EQ(presence(), worker_presence::connected);
}

TEST_F(run_dispatcher_test, ends_the_sweep_if_a_job_is_wrong) {
  on_query = [&](const std::string&) {
    return reply::value(staged(job_stage::refused, "another world"));
  };
  start();
  EXPECT_EQ(source.failure, "another world");
}

TEST_F(run_dispatcher_test, ends_the_sweep_if_a_job_cannot_be_made) {
  source.bad_run = 1;
  start();
  EXPECT_EQ(source.failure, "no such job");
  EXPECT_EQ(source.back, texts{"1 not begun"});
}

TEST_F(run_dispatcher_test, gets_nothing_from_results_that_cannot_be_read) {
  on_query = [&](const std::string&) {
    return reply::value(staged(job_stage::done, ""));
  };
  start();
  EXPECT_EQ(source.back.at(0), "0 lost");
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_EQ(record->view().played, 0u);
}

TEST_F(run_dispatcher_test, sends_a_recording_once_and_in_parts) {
  source.recording = std::string(2'500'000, 'x');
  source.recording.back() = '\n';
  auto there = false;
  on_job = [&](const run_job& x) {
    auto state = staged(there ? job_stage::running
                              : job_stage::needs_recording);
    state.recording = x.recordings.at(0).hash;
    return reply::value(state);
  };
  on_part = [&](const recording_part& x) {
    auto have = x.offset + x.text.size();
    there = have == x.size;
    return reply::value(recording_progress{have, there, {}});
  };
  start();
  world.advance(5s);
  EXPECT_EQ(source.results.size(), 5u);
  ASSERT_EQ(parts.size(), 3u);
  std::string all;
  for (const auto& x : parts) {
    EXPECT_EQ(x.offset, all.size());
    EXPECT_EQ(x.size, 2'500'000u);
    all += x.text;
  }
  EXPECT_EQ(all, source.recording);
}

TEST_F(run_dispatcher_test, does_not_send_a_recording_forever) {
  source.recording = "abc";
  on_job = [&](const run_job& x) {
    auto state = staged(job_stage::needs_recording);
    state.recording = x.recordings.at(0).hash;
    return reply::value(state);
  };
  on_part = [](const recording_part&) {
    return reply::value(recording_progress{0, false, {}});
  };
  start();
  EXPECT_EQ(presence(), worker_presence::disconnected);
  EXPECT_LE(parts.size(), 5u);
  on_part = [](const recording_part&) {
    return reply::value(recording_progress{0, false, "no room"});
  };
  world.advance(1s);
  EXPECT_EQ(source.failure, "worker w:1: no room");
}

// A worker that reports to have the recording, and then lacks it again.
TEST_F(run_dispatcher_test, does_not_ask_for_a_recording_forever) {
  source.recording = "abc";
  on_job = [&](const run_job& x) {
    auto state = staged(job_stage::needs_recording);
    state.recording = x.recordings.at(0).hash;
    return reply::value(state);
  };
  cores = 1;
  start();
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_EQ(record->view().text, "it does not keep a recording");
  EXPECT_EQ(source.back, texts{"0 lost"});
  EXPECT_LE(jobs.size(), 10u);
}

// A worker that takes a byte of each part.
TEST_F(run_dispatcher_test, does_not_send_a_recording_in_bytes) {
  source.recording = std::string(100'000, 'x');
  on_job = [&](const run_job& x) {
    auto state = staged(job_stage::needs_recording);
    state.recording = x.recordings.at(0).hash;
    return reply::value(state);
  };
  on_part = [](const recording_part& x) {
    return reply::value(recording_progress{x.offset + 1, false, {}});
  };
  cores = 1;
  start();
  EXPECT_EQ(presence(), worker_presence::disconnected);
  EXPECT_LE(parts.size(), 5u);
  EXPECT_EQ(source.back, texts{"0 lost"});
}

// -- workers that keep runs ---------------------------------------------------

TEST_F(run_dispatcher_test, takes_runs_from_a_worker_that_makes_no_progress) {
  on_query = [](const std::string&) {
    auto state = staged(job_stage::running);
    state.permille = 400;
    return reply::value(state).after(1s);
  };
  start();
  world.advance(29min);
  EXPECT_EQ(source.back, texts{});
  for (int i = 0; i < 120 && source.back.empty(); ++i)
    world.advance(1s);
  EXPECT_EQ(source.back, (texts{"0 lost", "1 lost"}));
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_EQ(record->view().text, "a run makes no progress");
}

TEST_F(run_dispatcher_test, waits_for_a_run_that_gets_on_slowly) {
  std::map<std::string, std::uint32_t> seconds;
  on_query = [&](const std::string& id) {
    auto state = staged(job_stage::running);
    // A thousandth in twenty minutes.
    state.permille = ++seconds[id] / 1200;
    return reply::value(state).after(1s);
  };
  start();
  world.advance(5h);
  EXPECT_EQ(source.back, texts{});
}

TEST_F(run_dispatcher_test, takes_no_progress_from_what_is_more_than_all) {
  std::map<std::string, std::uint32_t> seconds;
  on_query = [&](const std::string& id) {
    auto state = staged(job_stage::running);
    state.permille = 1'000'000 + ++seconds[id];
    return reply::value(state).after(1s);
  };
  start();
  world.advance(31min);
  EXPECT_EQ(source.back, (texts{"0 lost", "1 lost"}));
  EXPECT_EQ(source.shares[0].back(), 1.0);
}

TEST_F(run_dispatcher_test, rejects_recordings_that_are_not_of_the_sweep) {
  on_job = [&](const run_job&) {
    auto state = staged(job_stage::needs_recording);
    state.recording = 12345;
    return reply::value(state);
  };
  start();
  EXPECT_EQ(presence(), worker_presence::refused);
  EXPECT_TRUE(parts.empty());
}

TEST_F(run_dispatcher_test, drops_its_jobs_at_the_end) {
  start();
  world.send(dispatcher, dispatcher_end{});
  EXPECT_EQ(dropped, (texts{"s-0", "s-1"}));
  EXPECT_TRUE(portable::is_down(dispatcher));
  EXPECT_EQ(source.back, (texts{"0 not begun", "1 not begun"}));
}

TEST_F(run_dispatcher_test, does_not_wait_long_for_a_worker_at_the_end) {
  start();
  far.become(scripted_worker::always_reply(reply::silence()));
  world.send(dispatcher, dispatcher_end{});
  EXPECT_FALSE(portable::is_down(dispatcher));
  world.advance(1s);
  EXPECT_TRUE(portable::is_down(dispatcher));
}

} // namespace
} // namespace caisson::sim
