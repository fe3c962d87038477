// The alternative that a call goes to first, and the time for a cache.
#include <policies/fallback/model/fallback_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace falling_back;
using strings = std::vector<std::string>;

TEST(fallback, lets_a_function_choose_where_to_begin) {
  using choice = std::optional<std::size_t>;
  struct {
    choice chosen;
    std::optional<std::uint64_t> goes_to; // nothing: the outcome goes up
  } const table[] = {
    {0, 0}, {1, 1}, {2, 2}, {3, std::nullopt}, {std::nullopt, std::nullopt}};
  for (auto& row : table) {
    auto c = simple_fallback(9);
    c.choose = [&](const call_info& call, const outcome& o) {
      EXPECT_EQ(call.key, "k");
      EXPECT_TRUE(o.is(errc::worker_down));
      return row.chosen;
    };
    fallback_rig h{c,
                   std::vector<alternative_kind>{an_actor, an_actor, a_value}};
    call_info call;
    call.key = "k";
    auto id = h.arrive(call);
    h.fail(id, errc::worker_down);
    if (row.goes_to) {
      expect_at(h, id, *row.goes_to);
      EXPECT_EQ(h.count("passed_over"), 0);
    } else {
      EXPECT_EQ(h.where(id), place::passed);
      EXPECT_EQ(h.count("declined"), 1);
      EXPECT_EQ(h.count("running"), 0);
    }
  }
}

TEST(fallback, asks_once_where_to_begin) {
  int asked = 0;
  auto c = simple_fallback(9);
  c.choose = [&](const call_info&, const outcome&) {
    ++asked;
    return std::optional<std::size_t>{1};
  };
  fallback_rig h{c, std::vector<alternative_kind>{an_actor, an_actor, a_value}};
  auto id = h.arrive();
  h.fail(id);
  expect_at(h, id, 1);
  h.fail(id);
  expect_at(h, id, 2);
  EXPECT_EQ(asked, 1);
}

TEST(fallback, reports_a_function_that_cannot_choose) {
  auto c = simple_fallback(9);
  c.choose = [](const call_info&,
                const outcome&) -> std::optional<std::size_t> {
    throw std::runtime_error{"no idea"};
  };
  fallback_rig h{c, std::vector<alternative_kind>{a_value}};
  auto id = h.arrive();
  h.fail(id);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_EQ(h.e.threw, strings{"choose: no idea"});
}

TEST(fallback, gives_a_cache_a_part_of_the_time_only) {
  struct {
    alternative_kind kind;
    duration left;
    double share;
    duration limit; // unlimited: the call's own
  } const table[] = {
    {alternative_kind::cache, 1s, 0.25, 250ms},
    {alternative_kind::cache, 2s, 1, 2s},
    {alternative_kind::cache, unlimited, 0.15, unlimited},
    {an_actor, 1s, 0.15, unlimited},
  };
  for (auto& row : table) {
    auto c = simple_fallback(1);
    c.cache_share = row.share;
    fallback_rig h{c, std::vector<alternative_kind>{row.kind, a_value}};
    auto id = h.arrive_with(row.left);
    h.fail(id);
    expect_at(h, id, 0);
    EXPECT_EQ(h.e.children.front().deadline, time_after(h.e.now, row.limit));
    // Too slow: the next one has its turn.
    h.fail(id, errc::deadline_exceeded);
    expect_at(h, id, 1);
  }
}

} // namespace
} // namespace caisson::test
