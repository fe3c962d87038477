// The parts of a sweep on several machines that need no actors.
#include <support/scratch.hpp>

#include <simulator/remote/build_identity.hpp>
#include <simulator/remote/reachable.hpp>
#include <simulator/remote/recording_bundle.hpp>
#include <simulator/remote/recording_cache.hpp>
#include <simulator/remote/remote_network.hpp>
#include <simulator/remote/remote_watch.hpp>
#include <simulator/remote/run_queue.hpp>
#include <simulator/remote/worker_address.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/settings/problem.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

// -- addresses ----------------------------------------------------------------

TEST(worker_address, is_a_host_and_a_port) {
  for (auto [text, host, port] :
       {std::tuple{"127.0.0.1:4001", "127.0.0.1", 4001},
        {"node-7.example.org:65535", "node-7.example.org", 65535},
        {"[::1]:0", "::1", 0},
        {"[fe80::1%eth0]:80", "fe80::1%eth0", 80}}) {
    auto a = read_worker_address(text);
    ASSERT_TRUE(a) << text;
    EXPECT_EQ(a->host, host);
    EXPECT_EQ(a->port, port);
    EXPECT_EQ(a->text(), text);
  }
}

TEST(worker_address, is_nothing_else) {
  for (auto text :
       {"", ":", "a", "a:", ":1", "a:65536", "a:-1", "a:1x", "::1:80", "[::1]",
        "[::1]:", "[]:1", "[a]:1", "a b:1", "a:01 ", "\x1b[m:1", "tcp://a:1"})
    EXPECT_FALSE(read_worker_address(text)) << text;
  EXPECT_FALSE(read_worker_address(std::string(300, 'a') + ":1"));
}

TEST(worker_address, knows_what_no_other_machine_can_reach) {
  for (auto host : {"127.0.0.1", "127.9.8.7", "localhost", "::1"})
    EXPECT_TRUE((worker_address{host, 1}.is_loopback())) << host;
  for (auto host : {"0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org",
                    "128.0.0.1", "127.1", "localhost.example.org"})
    EXPECT_FALSE((worker_address{host, 1}.is_loopback())) << host;
}

TEST(remote_network, is_plain_only_on_this_machine_or_if_configured) {
  const remote_certificates none;
  const remote_certificates some{"c", "k", "a"};
  EXPECT_NO_THROW(require_safe({"127.0.0.1", 1}, none, false, "--listen"));
  EXPECT_NO_THROW(require_safe({"10.0.0.1", 1}, some, false, "--listen"));
  EXPECT_NO_THROW(require_safe({"10.0.0.1", 1}, none, true, "--listen"));
  EXPECT_THROW(require_safe({"10.0.0.1", 1}, none, false, "--listen"),
               config_error);
}

TEST(remote_network, wants_all_certificates_or_none) {
  EXPECT_NO_THROW(static_cast<void>(remote_config({})));
  for (const auto& files :
       {remote_certificates{"c", "k", ""}, remote_certificates{"c", "", "a"},
        remote_certificates{"", "k", "a"}})
    try {
      static_cast<void>(remote_config(files));
      FAIL() << "accepted";
    } catch (const config_error& e) {
      EXPECT_NE(std::string{e.what()}.find("is required with certificates"),
                std::string::npos)
        << e.what();
    }
}

TEST(why_unreachable, says_that_nobody_listens) {
  // Port 1 of this machine: nobody does.
  EXPECT_NE((why_unreachable({"127.0.0.1", 1}, 1s)), "");
  EXPECT_NE((why_unreachable({"no.such.host.invalid", 1}, 1s)), "");
}

// -- builds -------------------------------------------------------------------

TEST(build_identity, is_the_same_each_time) {
  auto own = own_identity("1.2.3");
  EXPECT_EQ(own_identity("1.2.3"), own);
  EXPECT_EQ(difference_of(own, own), "");
  EXPECT_EQ(own.program.size(), 16u);
  EXPECT_EQ(own.arithmetic.size(), 16u);
}

TEST(build_identity, differs_for_a_reason) {
  const build_identity own{"1", "p", "a"};
  EXPECT_EQ(difference_of(own, {"2\x1b", "p", "a"}),
            "it is version 2\\x1b, this is 1");
  EXPECT_TRUE(difference_of(own, {"1", "q", "a"})
                .starts_with("it is another build of 1"));
  EXPECT_TRUE(
    difference_of(own, {"1", "p", "b"}).starts_with("it is the same program"));
}

// -- the queue ----------------------------------------------------------------

TEST(run_queue, hands_out_the_first_ones_first) {
  run_queue q{{4, 2, 9}, true};
  EXPECT_EQ(q.pop_remote(), 2u);
  EXPECT_EQ(q.pop_local(), 4u);
  q.give_back(2, false);
  EXPECT_EQ(q.pop_local(), 2u);
  EXPECT_EQ(q.pop_remote(), 9u);
  EXPECT_EQ(q.pop_remote(), std::nullopt);
  EXPECT_EQ(q.left(), 3u);
}

TEST(run_queue, is_over_when_all_are_done) {
  run_queue q{{0, 1}, true};
  EXPECT_FALSE(q.wait(0));
  ASSERT_TRUE(q.pop_remote());
  EXPECT_TRUE(q.done(0));
  ASSERT_TRUE(q.pop_remote());
  EXPECT_FALSE(q.wait(0)) << "one is out";
  EXPECT_TRUE(q.done(1));
  EXPECT_TRUE(q.wait(0));
  EXPECT_EQ(q.pop_local(), std::nullopt);
  EXPECT_TRUE((run_queue{{}, false}.wait(0)));
}

TEST(run_queue, takes_a_result_once_and_only_of_what_is_out) {
  run_queue q{{0, 1}, true};
  EXPECT_FALSE(q.done(0)) << "nobody had it";
  ASSERT_TRUE(q.pop_remote());
  EXPECT_TRUE(q.done(0));
  EXPECT_FALSE(q.done(0));
  q.give_back(0, true);
  EXPECT_EQ(q.pop_remote(), 1u) << "what is done does not go out again";
  EXPECT_EQ(q.pop_remote(), std::nullopt);
}

TEST(run_queue, gives_nothing_away_once_it_has_ended) {
  run_queue q{{0, 1, 2}, true};
  ASSERT_TRUE(q.pop_remote());
  q.end();
  EXPECT_TRUE(q.wait(0));
  EXPECT_EQ(q.pop_remote(), std::nullopt);
  EXPECT_EQ(q.pop_local(), std::nullopt);
  EXPECT_EQ(q.left(), 3u);
}

TEST(run_queue, keeps_at_home_what_workers_are_lost_with) {
  run_queue q{{0, 1}, true};
  for (auto i = 1u; i <= run_queue::most_losses; ++i) {
    EXPECT_EQ(q.pop_remote(), 0u) << i;
    q.give_back(0, true);
  }
  EXPECT_EQ(q.pop_remote(), 1u);
  EXPECT_EQ(q.pop_remote(), std::nullopt);
  EXPECT_EQ(q.pop_local(), 0u);
  EXPECT_EQ(q.given_up(), std::nullopt);
}

TEST(run_queue, gives_up_what_workers_are_lost_with_if_there_is_no_home) {
  run_queue q{{0, 1}, false};
  for (auto i = 1u; i <= run_queue::most_losses; ++i) {
    EXPECT_FALSE(q.wait(0));
    EXPECT_EQ(q.pop_remote(), 0u) << i;
    // That it was never begun does not count.
    q.give_back(0, false);
    ASSERT_TRUE(q.pop_remote());
    q.give_back(0, true);
  }
  EXPECT_TRUE(q.wait(0));
  EXPECT_EQ(q.given_up(), 0u);
}

// Whoever takes, loses and does runs: each is done once.
TEST(run_queue, loses_and_doubles_nothing) {
  constexpr std::size_t n = 2000;
  std::vector<std::size_t> runs(n);
  for (std::size_t i = 0; i < n; ++i)
    runs[i] = i;
  run_queue q{runs, true};
  std::vector<std::atomic<int>> done(n);
  std::vector<std::jthread> threads;
  for (unsigned seed = 1; seed <= 6; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 draw{seed};
      while (!q.wait(0)) {
        auto run = seed % 2 == 0 ? q.pop_local() : q.pop_remote();
        if (!run) {
          std::this_thread::yield();
          continue;
        }
        if (draw() % 4 == 0)
          q.give_back(*run, draw() % 2 == 0);
        else if (q.done(*run))
          ++done[*run];
      }
    });
  threads.clear();
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_EQ(done[i], 1) << i;
}

// -- recordings ---------------------------------------------------------------

recording_part part_of(const std::string& all, std::size_t at, std::size_t n) {
  return {detail::fnv1a(all), all.size(), at, all.substr(at, n)};
}

TEST(recording_cache, puts_parts_together) {
  recording_cache s{100};
  const std::string all = "0,1\n1,2\n2,3\n";
  auto hash = detail::fnv1a(all);
  EXPECT_EQ(s.find(hash, all.size()), nullptr);
  EXPECT_EQ(s.add(part_of(all, 0, 5)).have, 5u);
  EXPECT_EQ(s.have(hash, all.size()), 5u);
  EXPECT_EQ(s.find(hash, all.size()), nullptr) << "not whole yet";
  // A part that came before, and one that is too early, change nothing.
  EXPECT_EQ(s.add(part_of(all, 0, 5)).have, 5u);
  EXPECT_EQ(s.add(part_of(all, 7, 5)).have, 5u);
  auto last = s.add(part_of(all, 5, 100));
  EXPECT_TRUE(last.complete);
  EXPECT_EQ(*s.find(hash, all.size()), all);
  EXPECT_TRUE(s.add(part_of(all, 0, 5)).complete);
}

TEST(recording_cache, rejects_mismatched_content) {
  recording_cache s{100};
  auto x = part_of("abc", 0, 3);
  x.text = "abd";
  EXPECT_NE(s.add(x).refused, "");
  EXPECT_EQ(s.have(x.hash, 3), 0u);
  x.text = "abcd";
  EXPECT_EQ(s.add(x).have, 0u) << "more than was announced";
  EXPECT_NE(s.add({1, 101, 0, "a"}).refused, "") << "no room";
  EXPECT_NE(s.add({1, 0, 0, ""}).refused, "");
  EXPECT_NE(
    s.add({1, 99, 0, std::string(recording_cache::longest_part + 1, 'a')})
      .refused,
    "");
  EXPECT_TRUE(s.add(part_of("abc", 0, 3)).complete);
}

TEST(recording_cache, forgets_what_was_used_longest_ago) {
  recording_cache s{9};
  texts all{"abc", "def", "ghi"};
  for (const auto& x : all)
    s.add(part_of(x, 0, 3));
  EXPECT_NE(s.find(detail::fnv1a("abc"), 3), nullptr);
  s.add(part_of("jklm", 0, 1));
  EXPECT_NE(s.find(detail::fnv1a("abc"), 3), nullptr);
  EXPECT_EQ(s.find(detail::fnv1a("def"), 3), nullptr);
  EXPECT_EQ(s.find(detail::fnv1a("ghi"), 3), nullptr) << "4 bytes are needed";
}

TEST(recording_bundle, reads_files_and_nothing_else) {
  test::scratch_dir dir;
  dir.write("t.csv", "1\n2\n");
  recording_bundle bundle{dir.path()};
  auto t = bundle.add("t.csv");
  EXPECT_EQ(t.path, "t.csv");
  EXPECT_EQ(t.size, 4u);
  EXPECT_EQ(*bundle.find(t.hash), "1\n2\n");
  EXPECT_EQ(bundle.find(t.hash + 1), nullptr);
  EXPECT_THROW(static_cast<void>(bundle.add("none.csv")), config_error);
  EXPECT_THROW(static_cast<void>(bundle.add("/dev/null")), config_error);
  EXPECT_THROW(static_cast<void>(bundle.add(".")), config_error);
}

// -- messages for users -------------------------------------------------------

worker_view seen(worker_presence p, std::string text = {}) {
  return {"w:1", p, std::move(text), 2, 0};
}

TEST(remote_watch, reports_what_changes_and_nothing_twice) {
  using enum worker_presence;
  remote_watch w{true, 60s};
  EXPECT_EQ(w.check({seen(expected)}, 0s), texts{});
  EXPECT_EQ(w.check({seen(connected)}, 1s), texts{}) << "as it should be";
  EXPECT_EQ(w.connected(), 1u);
  EXPECT_EQ(w.check({seen(disconnected, "no answer in time")}, 2s),
            texts{"worker w:1 is lost (no answer in time); its runs are "
                  "repeated"});
  EXPECT_EQ(w.check({seen(disconnected, "no answer in time")}, 30s), texts{});
  EXPECT_EQ(w.connected(), 0u);
  EXPECT_EQ(w.check({seen(connected)}, 31s),
            texts{"worker w:1 is connected, with 2 cores"});
  EXPECT_EQ(w.check({seen(refused, "it is old")}, 40s),
            texts{"worker w:1 is not used: it is old"});
  EXPECT_EQ(w.check({seen(refused, "it is old")}, 41s), texts{});
  EXPECT_EQ(w.hopeless(), std::nullopt) << "this machine plays";
}

TEST(remote_watch, reports_a_worker_that_was_connected_between_two_checks) {
  using enum worker_presence;
  remote_watch w{true, 60s};
  EXPECT_EQ(w.check({seen(expected)}, 0s), texts{});
  EXPECT_EQ(w.check({seen(disconnected, "it is gone")}, 1s),
            texts{"worker w:1 is lost (it is gone); its runs are "
                  "repeated"});
}

TEST(remote_watch, mentions_late_workers_once) {
  using enum worker_presence;
  remote_watch w{true, 60s};
  EXPECT_EQ(w.check({seen(expected, "refused")}, 2999ms), texts{});
  EXPECT_EQ(w.check({seen(expected, "refused")}, 3s),
            texts{"worker w:1 is not connected yet (refused)"});
  EXPECT_EQ(w.check({seen(expected, "refused")}, 9s), texts{});
  EXPECT_EQ(w.check({seen(connected)}, 10s),
            texts{"worker w:1 is connected, with 2 cores"});
}

TEST(remote_watch, waits_for_a_worker_and_not_for_ever) {
  using enum worker_presence;
  remote_watch w{false, 60s};
  EXPECT_EQ(w.check({seen(connected), seen(connected)}, 0s), texts{});
  EXPECT_EQ(w.check({seen(connected), seen(connected)}, 100s), texts{});
  EXPECT_EQ(w.check({seen(disconnected), seen(connected)}, 101s).size(), 1u);
  EXPECT_EQ(w.check({seen(disconnected), seen(connected)}, 200s), texts{});
  EXPECT_EQ(w.check({seen(disconnected), seen(disconnected)}, 201s).size(), 1u);
  EXPECT_EQ(w.check({seen(disconnected), seen(disconnected)}, 203s),
            texts{"no worker is connected; waiting for one, for at most 1min"});
  EXPECT_EQ(w.check({seen(disconnected), seen(disconnected)}, 259s), texts{});
  EXPECT_EQ(w.hopeless(), std::nullopt);
  static_cast<void>(w.check({seen(disconnected), seen(disconnected)}, 260s));
  EXPECT_EQ(w.hopeless(), "no worker has been connected for 1min");
}

TEST(remote_watch, does_not_wait_for_workers_that_cannot_be_used) {
  using enum worker_presence;
  remote_watch w{false, 60s};
  static_cast<void>(w.check({seen(refused, "a"), seen(expected)}, 0s));
  EXPECT_EQ(w.hopeless(), std::nullopt);
  static_cast<void>(w.check({seen(refused, "a"), seen(refused, "b")}, 1s));
  EXPECT_EQ(w.hopeless(), "none of the workers can be used");
}

TEST(remote_watch, sums_up) {
  EXPECT_EQ(run_counts_text({{"a:1", worker_presence::connected, "", 1, 1234},
                             {"b:2", worker_presence::disconnected, "", 1, 0}},
                            7),
            "runs: a:1 1,234, b:2 0, this machine 7");
}

} // namespace
} // namespace caisson::sim
