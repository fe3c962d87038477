// The actor of `caisson worker`, with threads that do what the test says.
#include <support/remote_rig.hpp>
#include <support/sim_results.hpp>

#include <simulator/play/world_hash.hpp>
#include <simulator/remote/run_worker.hpp>
#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/toml.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto offered_scenario = R"(
length = "1s"
service.web = {}
load.users = { rate = 5, target = "web" }
)";

class run_worker_test : public testing::Test {
protected:
  static constexpr auto patience = 60s;

  run_worker_test() {
    problems found;
    auto root = parse_toml(offered_scenario, "x", found);
    world_ = world_hash(root, parse_scenario(offered_scenario, "x").arms.at(0),
                        test_build.version);
    config_.build = test_build;
    config_.cores = 2;
    config_.query_time = 20ms;
    config_.play = [this](const arm_config&, const run_options& o) {
      return play(o);
    };
  }

  ~run_worker_test() override {
    release(true);
    anon_end();
  }

  void start() {
    worker_ = caf::actor_cast<caf::actor>(system_.spawn<run_worker>(config_));
  }

  // A run ends when the test says so, or if it is stopped.
  arm_result play(const run_options& o) {
    std::unique_lock lock{mutex_};
    ++begun_;
    changed_.notify_all();
    while (!released_ && !*o.stop)
      changed_.wait_for(lock, 1ms);
    auto r = small_result();
    r.interrupted = *o.stop && !released_;
    r.seed = o.seed;
    ++ended_;
    changed_.notify_all();
    return r;
  }

  void release(bool yes) {
    std::lock_guard guard{mutex_};
    released_ = yes;
    changed_.notify_all();
  }

  bool reaches(int& count, int n) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return count >= n; });
  }

  template <class T, class Q>
  std::optional<T> ask(const Q& question) {
    std::optional<T> out;
    caf::scoped_actor self{system_};
    portable::ask_blocking(self, worker_, patience, question)
      .receive([&](const T& x) { out = x; }, [](caf::error&) {});
    return out;
  }

  job_stage stage_of(const run_job& x) {
    auto state = ask<job_state>(x);
    return state ? state->stage : job_stage::failed;
  }

  // Asks until it has ended.
  job_state end_of(const std::string& id) {
    for (;;) {
      auto state = ask<job_state>(job_query{id});
      if (!state || state->stage != job_stage::running)
        return state.value_or(job_state{});
    }
  }

  [[nodiscard]] run_job job(const std::string& id) const {
    run_job out;
    out.id = id;
    out.build = test_build;
    out.file = "x.toml";
    out.text = offered_scenario;
    out.arm = "default";
    out.metrics = {"goodput"};
    out.world = world_;
    return out;
  }

  void anon_end() {
    if (worker_)
      caf::anon_send_exit(worker_, caf::exit_reason::user_shutdown);
    worker_ = nullptr;
  }

  remote_test_config types_;
  caf::actor_system system_{types_};
  run_worker_config config_;
  caf::actor worker_;
  std::uint64_t world_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
  int begun_ = 0;
  int ended_ = 0;
};

TEST_F(run_worker_test, says_who_it_is) {
  start();
  auto x = ask<handshake_reply>(handshake_request{{"0", "other", "build"}});
  ASSERT_TRUE(x);
  EXPECT_EQ(x->build, test_build);
  EXPECT_EQ(x->cores, 2u);
}

TEST_F(run_worker_test, plays_what_it_is_given) {
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  EXPECT_EQ(ask<job_state>(job_query{"a"})->stage, job_stage::running);
  release(true);
  auto end = end_of("a");
  EXPECT_EQ(end.stage, job_stage::done);
  EXPECT_NE(end.text.find("goodput"), std::string::npos);
  EXPECT_EQ(end_of("a").stage, job_stage::unknown) << "it was fetched";
}

TEST_F(run_worker_test, answers_as_soon_as_a_run_ends) {
  config_.query_time = 1h;
  release(true);
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  EXPECT_EQ(end_of("a").stage, job_stage::done);
}

TEST_F(run_worker_test, plays_a_job_that_comes_twice_once) {
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  release(true);
  EXPECT_EQ(end_of("a").stage, job_stage::done);
  EXPECT_EQ(begun_, 1);
}

TEST_F(run_worker_test, plays_no_more_at_a_time_than_it_has_cores) {
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  EXPECT_EQ(stage_of(job("b")), job_stage::running);
  EXPECT_EQ(stage_of(job("c")), job_stage::busy);
  release(true);
  EXPECT_EQ(end_of("a").stage, job_stage::done);
  EXPECT_EQ(stage_of(job("c")), job_stage::running);
}

TEST_F(run_worker_test, keeps_few_results_that_nobody_fetches) {
  release(true);
  start();
  for (int i = 0;; ++i) {
    auto stage = stage_of(job(std::to_string(i)));
    if (stage == job_stage::busy && !reaches(ended_, begun_))
      FAIL() << "a run does not end";
    if (stage == job_stage::busy && begun_ >= 32)
      break;
    ASSERT_LT(begun_, 33);
  }
}

TEST_F(run_worker_test, stops_what_is_dropped) {
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  EXPECT_EQ(stage_of(job("b")), job_stage::running);
  ASSERT_TRUE(reaches(begun_, 2));
  EXPECT_EQ(ask<job_state>(job_drop{"a"})->stage, job_stage::unknown);
  EXPECT_EQ(ask<job_state>(job_drop{"none"})->stage, job_stage::unknown);
  EXPECT_EQ(end_of("a").stage, job_stage::unknown);
  ASSERT_TRUE(reaches(ended_, 1));
  // Its name is free, and soon its core.
  auto stage = stage_of(job("a"));
  while (stage == job_stage::busy)
    stage = stage_of(job("a"));
  EXPECT_EQ(stage, job_stage::running);
}

TEST_F(run_worker_test, gives_up_what_nobody_asks_for) {
  config_.lease = 50ms;
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  ASSERT_TRUE(reaches(ended_, 1));
  EXPECT_EQ(end_of("a").stage, job_stage::unknown);
}

TEST_F(run_worker_test, goes_on_with_what_somebody_asks_for) {
  config_.lease = 50ms;
  config_.query_time = 200ms;
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask<job_state>(job_query{"a"})->stage, job_stage::running);
  EXPECT_EQ(ended_, 0);
}

TEST_F(run_worker_test, plays_for_its_own_build_only) {
  start();
  auto x = job("a");
  x.build.program = "q";
  EXPECT_EQ(stage_of(x), job_stage::other_build);
  EXPECT_EQ(begun_, 0);
}

TEST_F(run_worker_test, refuses_what_is_too_large_or_wrong) {
  start();
  auto x = job("a");
  x.text.assign(longest_job_text + 1, '#');
  EXPECT_EQ(stage_of(x), job_stage::refused);
  x = job("a");
  x.text = "nonsense";
  EXPECT_EQ(stage_of(x), job_stage::running);
  auto end = end_of("a");
  EXPECT_EQ(end.stage, job_stage::refused);
  EXPECT_NE(end.text.find("x.toml:1:"), std::string::npos) << end.text;
  EXPECT_EQ(begun_, 0);
}

TEST_F(run_worker_test, asks_for_recordings) {
  start();
  const std::string text = "0,5\n1,6\n";
  auto x = job("a");
  x.recordings = {{"t.csv", detail::fnv1a(text), text.size()}};
  auto state = ask<job_state>(x);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->stage, job_stage::needs_recording);
  EXPECT_EQ(state->recording, detail::fnv1a(text));
  auto have = ask<recording_progress>(
    recording_part{detail::fnv1a(text), text.size(), 0, text.substr(0, 3)});
  ASSERT_TRUE(have);
  EXPECT_EQ(have->have, 3u);
  EXPECT_EQ(ask<job_state>(x)->have, 3u);
  EXPECT_TRUE(
    ask<recording_progress>(
      recording_part{detail::fnv1a(text), text.size(), 3, text.substr(3)})
      ->complete);
  EXPECT_EQ(stage_of(x), job_stage::running);
}

TEST_F(run_worker_test, answers_what_it_does_not_understand) {
  start();
  EXPECT_EQ(ask<job_state>(std::string{"?"}), std::nullopt);
  EXPECT_EQ(ask<job_state>(std::int32_t{1}), std::nullopt);
  for (int i = 0; i < 100; ++i) {
    portable::send_anon(worker_, check_jobs{});
    portable::send_anon(worker_, job_query{"a"});
    portable::send_anon(worker_, job_state{});
  }
  EXPECT_TRUE(ask<handshake_reply>(handshake_request{}));
}

TEST_F(run_worker_test, ends_with_runs_at_work) {
  start();
  EXPECT_EQ(stage_of(job("a")), job_stage::running);
  ASSERT_TRUE(reaches(begun_, 1));
  anon_end();
  EXPECT_TRUE(reaches(ended_, 1));
}

// -- the wire -----------------------------------------------------------------

template <class T>
T after_the_wire(caf::actor_system& sys, const T& x) {
  auto out = caf::make_message(x);
  caf::message in;
#if CAISSON_CAF_LEGACY
  std::vector<char> bytes;
  caf::binary_serializer sink{sys, bytes};
  EXPECT_FALSE(out.save(sink)) << "a type is not registered";
  caf::binary_deserializer source{sys, bytes};
  EXPECT_FALSE(in.load(source));
#else
  caf::byte_buffer bytes;
  caf::binary_serializer sink{sys, bytes};
  EXPECT_TRUE(sink.apply(out));
  caf::binary_deserializer source{sys, bytes};
  EXPECT_TRUE(source.apply(in));
#endif
  EXPECT_TRUE(portable::holds<T>(in));
  return in.get_as<T>(0);
}

TEST_F(run_worker_test, has_messages_that_survive_the_wire) {
  EXPECT_EQ(after_the_wire(system_, handshake_request{test_build}).build,
            test_build);
  auto w = after_the_wire(system_, handshake_reply{test_build, 7});
  EXPECT_EQ(w.build, test_build);
  EXPECT_EQ(w.cores, 7u);
  auto x = job("a\nb");
  x.seed = ~std::uint64_t{0};
  x.metrics = {"a", "", "\xff"};
  x.recordings = {{"p", 1, 2}, {"q", 3, 4}};
  auto y = after_the_wire(system_, x);
  EXPECT_EQ(
    std::tie(y.id, y.build, y.file, y.text, y.arm, y.seed, y.metrics, y.world),
    std::tie(x.id, x.build, x.file, x.text, x.arm, x.seed, x.metrics, x.world));
  ASSERT_EQ(y.recordings.size(), 2u);
  EXPECT_EQ(y.recordings[1].path, "q");
  EXPECT_EQ(y.recordings[1].hash, 3u);
  EXPECT_EQ(y.recordings[1].size, 4u);
  EXPECT_EQ(after_the_wire(system_, job_query{"i"}).id, "i");
  EXPECT_EQ(after_the_wire(system_, job_drop{"i"}).id, "i");
  for (auto s :
       {job_stage::running, job_stage::done, job_stage::refused,
        job_stage::busy, job_stage::unknown, job_stage::needs_recording,
        job_stage::other_build, job_stage::failed}) {
    auto z = after_the_wire(system_, job_state{s, 5, "t", {"f", "g"}, 6, 7});
    EXPECT_EQ(z.stage, s);
    EXPECT_EQ(z.permille, 5u);
    EXPECT_EQ(z.text, "t");
    EXPECT_EQ(z.failures, (std::vector<std::string>{"f", "g"}));
    EXPECT_EQ(z.recording, 6u);
    EXPECT_EQ(z.have, 7u);
  }
  auto p = after_the_wire(system_,
                          recording_part{1, 2, 3, std::string("\0\n", 2)});
  EXPECT_EQ(std::tie(p.hash, p.size, p.offset, p.text),
            std::make_tuple(1u, 2u, 3u, std::string("\0\n", 2)));
  auto h = after_the_wire(system_, recording_progress{9, true, "r"});
  EXPECT_EQ(std::tie(h.have, h.complete, h.refused),
            std::make_tuple(9u, true, std::string{"r"}));
}

} // namespace
} // namespace caisson::sim
