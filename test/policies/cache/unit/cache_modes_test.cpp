// Acknowledged writes of a cache whose mode changes.
#include <caisson/policies/cache/cache.hpp>

#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

class cache_modes : public testing::TestWithParam<mode> {};

INSTANTIATE_TEST_SUITE_P(modes, cache_modes,
                         testing::Values(mode::observe, mode::off),
                         [](const auto& x) {
                           return std::string{name_of(x.param)};
                         });

TEST_P(cache_modes, what_is_unwritten_is_flushed_at_once) {
  cache_rig h{{.flush_after = 1h, .staleness = 2h}};
  h.write("a", "1");
  h.write("b", "1");
  EXPECT_EQ(h.children(), 0u);
  h.set_mode(GetParam());
  EXPECT_EQ(h.children(), 2u);
}

TEST_P(cache_modes, a_newer_write_waits_for_the_older_one) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "1");
  h.set_mode(GetParam());
  auto b = h.write("k", "2");
  auto c = h.change("k");
  EXPECT_EQ(h.got(b), "...");
  EXPECT_EQ(h.got(c), "...");
  h.refuse(1, errc::worker_down);
  EXPECT_EQ(h.got(b), "...");
  h.pass(200ms);
  h.reply(2, "done");
  EXPECT_EQ(h.got(b), "below");
  EXPECT_EQ(h.got(c), "below");
  EXPECT_FALSE(h.e.held_open);
}

TEST_P(cache_modes, reads_see_what_is_unwritten) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "1");
  h.set_mode(GetParam());
  EXPECT_EQ(h.get("k"), "1");
  h.reply(1, "done");
  h.read("k");
  EXPECT_EQ(h.count("hits"), 1 + (GetParam() == mode::observe ? 1 : 0));
}

TEST_P(cache_modes, other_keys_are_let_through) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "1");
  h.set_mode(GetParam());
  EXPECT_EQ(h.get("l"), "below");
  EXPECT_EQ(h.got(h.write("l", "1")), "below");
  EXPECT_EQ(h.count("written"), 1);
}

// A write that went down in another mode must not be overtaken either.
TEST_P(cache_modes, one_that_is_below_is_not_overtaken_afterwards) {
  cache_rig h{{.flush_after = 0s}};
  h.set_mode(GetParam());
  auto a = h.write("k", "1");
  EXPECT_EQ(h.got(a), "below");
  h.set_mode(mode::enforce);
  auto b = h.write("k", "2");
  EXPECT_EQ(h.got(b), "below") << "it is not acknowledged";
  h.reply_to(a, "done");
  h.reply_to(b, "done");
  EXPECT_EQ(h.got(h.write("k", "3")), "ok");
}

TEST_P(cache_modes, back_in_force_it_takes_its_time_again) {
  cache_rig h{{.flush_after = 1s}};
  h.set_mode(GetParam());
  h.set_mode(mode::enforce);
  EXPECT_EQ(h.got(h.write("k", "1")), "ok");
  h.pass(1s - 1ns);
  EXPECT_EQ(h.children(), 0u);
  h.pass(1ns);
  EXPECT_EQ(h.children(), 1u);
}

TEST_P(cache_modes, but_not_while_it_drains) {
  cache_rig h{{.flush_after = 1s}};
  h.drain();
  h.set_mode(GetParam());
  h.set_mode(mode::enforce);
  h.write("k", "1");
  h.pass(0s);
  EXPECT_EQ(h.children(), 1u);
}

TEST_P(cache_modes, a_change_drops_what_is_kept) {
  cache_rig h;
  h.read("k");
  h.reply(1, "old");
  h.set_mode(GetParam());
  h.reply_to(h.change("k"), "done");
  h.set_mode(mode::enforce);
  EXPECT_EQ(h.get("k"), "...");
}

} // namespace
} // namespace caisson::test
