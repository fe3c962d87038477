// Several arms at a time.
#include <support/sim_results.hpp>
#include <support/source_dir.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/ordered_work.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// -- the threads --------------------------------------------------------------

// Takes some time that differs from piece to piece.
std::size_t square(std::size_t i) {
  std::atomic<std::size_t> steps{i * 7919 % 20};
  while (steps-- > 0)
    std::this_thread::yield();
  return i * i;
}

TEST(ordered_work, hands_over_everything_in_order) {
  for (std::size_t jobs : {0u, 1u, 2u, 3u, 8u, 100u})
    for (std::size_t count : {0u, 1u, 2u, 7u, 200u}) {
      std::vector<std::size_t> got;
      ordered_work<std::size_t>{count, jobs}.run(
        square, [&](std::size_t i, std::size_t x) {
          EXPECT_EQ(x, i * i);
          got.push_back(i);
          return true;
        });
      ASSERT_EQ(got.size(), count) << jobs;
      EXPECT_TRUE(std::ranges::is_sorted(got));
    }
}

TEST(ordered_work, begins_no_piece_far_ahead) {
  constexpr std::size_t jobs = 4;
  std::atomic<std::size_t> taken{0};
  ordered_work<std::size_t>{500, jobs}.run(
    [&](std::size_t i) {
      EXPECT_LE(i, taken + ordered_work<std::size_t>::ahead * jobs);
      return square(i);
    },
    [&](std::size_t i, std::size_t) {
      taken = i + 1;
      return true;
    });
}

TEST(ordered_work, ends_when_nobody_wants_more) {
  std::atomic<std::size_t> done{0};
  std::size_t taken = 0;
  ordered_work<std::size_t>{100'000, 3}.run(
    [&](std::size_t i) {
      ++done;
      return i;
    },
    [&](std::size_t, std::size_t) { return ++taken < 5; });
  EXPECT_EQ(taken, 5u);
  EXPECT_LT(done, 100u);
}

TEST(ordered_work, throws_what_the_first_piece_threw) {
  for (std::size_t jobs : {1u, 4u}) {
    std::size_t taken = 0;
    auto run = [&] {
      ordered_work<std::size_t>{100, jobs}.run(
        [](std::size_t i) -> std::size_t {
          if (i >= 10)
            throw std::runtime_error{std::to_string(i)};
          return square(i);
        },
        [&](std::size_t, std::size_t) { return ++taken > 0; });
    };
    try {
      run();
      FAIL() << "nothing thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "10");
    }
    EXPECT_EQ(taken, 10u);
  }
}

// -- the command --------------------------------------------------------------

class parallel_command : public testing::Test {
protected:
  parallel_command() {
    parts.stop = &stop;
    parts.load = [this](const std::filesystem::path&) { return world; };
    parts.play = [this](const arm_config& arm, const run_options& options) {
      square(options.seed + arm.name.size());
      options.progress(0.5);
      auto r = small_result();
      r.name = arm.name;
      r.seed = options.seed;
      r.answered_twice = options.seed % 7 == 3 ? 1 : 0;
      if (options.seed == stop_at) {
        stop = true;
        r.interrupted = true;
      }
      return r;
    };
    for (std::string name : {"naive", "caisson", "third"}) {
      world.arms.push_back(small_arm());
      world.arms.back().name = name;
    }
  }

  std::string run(const char* jobs) {
    stop = false;
    std::ostringstream out;
    std::ostringstream err;
    const char* const args[] = {"caisson", "run", "a.toml", "--seeds", "20",
                                "--json",  "-",   "--jobs", jobs};
    auto code = command_main(static_cast<int>(std::size(args)), args, out, err,
                             parts);
    return std::to_string(code) + err.str() + out.str();
  }

  scenario world;
  std::atomic<bool> stop{false};
  std::uint64_t stop_at = 1'000'000;
  command_parts parts;
};

TEST_F(parallel_command, shows_the_same_on_any_number_of_cores) {
  auto alone = run("1");
  EXPECT_EQ(alone[0], '1') << "some of them fail";
  for (const auto* jobs : {"2", "3", "16"})
    EXPECT_EQ(run(jobs), alone) << jobs;
}

TEST_F(parallel_command, ends_with_the_first_arm_that_was_interrupted) {
  stop_at = 5;
  for (const auto* jobs : {"1", "4"})
    EXPECT_TRUE(run(jobs).starts_with("130")) << jobs;
}

TEST_F(parallel_command, refuses_other_numbers) {
  for (const auto* jobs : {"0", "257", "x", "-1", ""})
    EXPECT_EQ(run(jobs)[0], '2') << jobs;
}

// What is really run is the same, too.
TEST(parallel_runs, have_the_same_digests) {
  command_parts parts;
  auto run = [&](const char* jobs) {
    std::ostringstream out;
    std::ostringstream err;
    const std::string file = test::source_path("demos/scenarios/breakers.toml")
                               .string();
    const char* const args[] = {"caisson", "run", file.c_str(), "--no-speed",
                                "--seeds", "2",   "--json",     "-",
                                "--jobs",  jobs};
    command_main(static_cast<int>(std::size(args)), args, out, err, parts);
    return err.str() + out.str();
  };
  auto alone = run("1");
  EXPECT_NE(alone.find("digest"), std::string::npos);
  EXPECT_EQ(run("4"), alone);
}

} // namespace
} // namespace caisson::sim
