// A process that acknowledges writes is killed at random instants.
#include "system/peer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using wall = std::chrono::steady_clock;

/// What has been written, by key: the last number.
class ledger {
public:
  void set(const std::string& key, std::int64_t n) {
    std::lock_guard guard{mutex_};
    auto& last = numbers_[key];
    EXPECT_GE(n, last) << "an older write came after a newer one";
    last = n;
  }

  std::map<std::string, std::int64_t> all() {
    std::lock_guard guard{mutex_};
    return numbers_;
  }

private:
  std::mutex mutex_;
  std::map<std::string, std::int64_t> numbers_;
};

class keeper final : public caf::event_based_actor {
public:
  keeper(caf::actor_config& cfg, ledger* book)
    : caf::event_based_actor(cfg), book_(book) {}

  caf::behavior make_behavior() override {
    return {[this](const std::string& key, std::int64_t n) {
      book_->set(key, n);
      return true;
    }};
  }

private:
  ledger* book_;
};

struct acknowledgement {
  std::string key;
  std::int64_t number;
  wall::time_point at;
};

/// Writes to twenty keys in turn until nobody answers any more.
std::vector<acknowledgement> write_until_the_end(caf::actor_system& sys,
                                                 const caf::actor& gate) {
  std::vector<acknowledgement> out;
  caf::scoped_actor self{sys};
  for (std::int64_t n = 1;; ++n) {
    auto key = "k" + std::to_string(n % 20);
    auto well = false;
    portable::ask_blocking(self, gate, 1s, key, n)
      .receive([&](bool) { well = true; }, [](caf::error&) {});
    if (!well)
      return out;
    out.push_back({key, n, wall::now()});
  }
}

/// How long before `end` the oldest write was acknowledged that is lost; zero
/// if none is. One that a newer write has replaced is not lost.
wall::duration oldest_loss(const std::vector<acknowledgement>& all,
                           const std::map<std::string, std::int64_t>& stored,
                           wall::time_point end) {
  auto oldest = wall::duration::zero();
  for (const auto& x : all) {
    auto i = stored.find(x.key);
    if (i == stored.end() || i->second < x.number)
      oldest = std::max(oldest, end - x.at);
  }
  return oldest;
}

TEST(write_back, what_is_lost_with_the_process_is_young) {
  auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  auto bound = write_back_settings().staleness;
  for (int round = 0; round < 3; ++round) {
    network_config cfg;
    use_two_threads(cfg);
    caf::actor_system sys{cfg};
    ledger book;
    auto store = caf::actor_cast<caf::actor>(sys.spawn<keeper>(&book));
    auto store_gate = spawn_gate(sys, store, stack{"store"});
    auto port = portable::publish(sys, store_gate);
    ASSERT_TRUE(static_cast<bool>(port));
    demo::process peer{"write_back", std::to_string(*port)};
    auto gate = portable::connect(sys, "127.0.0.1", port_of(peer));
    ASSERT_TRUE(static_cast<bool>(gate));
    wall::time_point end;
    std::thread killer{[&] {
      std::this_thread::sleep_for(1s
                                  + std::chrono::milliseconds(random() % 500));
      end = wall::now();
      peer.kill();
    }};
    auto all = write_until_the_end(sys, *gate);
    killer.join();
    // Flushes that were sent before the end may still be on their way.
    std::this_thread::sleep_for(100ms);
    auto lost = oldest_loss(all, book.all(), end);
    std::cout
      << all.size() << " acknowledged, the oldest that is lost: "
      << std::chrono::duration_cast<std::chrono::milliseconds>(lost).count()
      << " ms\n";
    EXPECT_GT(all.size(), 20u);
    EXPECT_LE(lost, bound);
    stop_gate(store_gate);
    caf::anon_send_exit(store, caf::exit_reason::user_shutdown);
  }
}

} // namespace
} // namespace caisson::test
