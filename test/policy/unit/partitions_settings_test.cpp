// Settings of partitions, and how they split a limit.
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/keyed/keyed.hpp>
#include <caisson/policies/semaphore.hpp>

#include <support/partitioned.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using wrong_keys = std::vector<std::string>;

// -- settings -----------------------------------------------------------------

wrong_keys wrong_shares(share_list list) {
  return kinds_and_keys(problems_of(partitioned(std::move(list), 40)));
}

TEST(partitions, refuse_wrong_names_and_shares) {
  EXPECT_EQ(wrong_shares(two), wrong_keys{});
  EXPECT_EQ(wrong_shares({{"a", 0}, {"b", 1}}), wrong_keys{});
  EXPECT_EQ(wrong_shares({{"a", 0.7}, {"b", 0.2}, {"c", 0.1}}), wrong_keys{});
  share_list sixths;
  for (const auto* name : {"a", "b", "c", "d", "e", "f"})
    sixths.push_back({name, 1.0 / 6});
  EXPECT_EQ(wrong_shares(sixths), wrong_keys{});
  EXPECT_EQ(wrong_shares({{"a", 0.7}, {"b", 0.3000001}}),
            wrong_keys{"relation partitions"});
  EXPECT_EQ(wrong_shares({{"", 0.1}}), wrong_keys{"missing partitions."});
  EXPECT_EQ(wrong_shares({{"a/b", 0.1}}), wrong_keys{"range partitions.a/b"});
  EXPECT_EQ(wrong_shares({{std::string(64, 'x'), 0.1}}), wrong_keys{});
  EXPECT_EQ(wrong_shares({{std::string(65, 'x'), 0.1}}).size(), 1u);
  EXPECT_EQ(wrong_shares({{"rest", 0.1}}), wrong_keys{"range partitions.rest"});
  EXPECT_EQ(wrong_shares({{"a", 0.1}, {"a", 0.1}}),
            wrong_keys{"relation partitions.a"});
  for (auto share : {-0.1, 1.1, std::nan("")})
    EXPECT_EQ(wrong_shares({{"a", share}}), wrong_keys{"range partitions.a"});
}

TEST(partitions, are_at_most_32) {
  share_list many;
  for (int i = 0; i < 32; ++i)
    many.push_back({"p" + std::to_string(i), 0.01});
  EXPECT_EQ(wrong_shares(many), wrong_keys{});
  many.push_back({"one_more", 0.01});
  EXPECT_EQ(wrong_shares(many), wrong_keys{"range partitions"});
}

// One without a permit would wait as long as others have calls.
TEST(partitions, need_a_permit_for_each) {
  auto with = [](share_list list, std::uint32_t permits) {
    return kinds_and_keys(problems_of(partitioned(std::move(list), permits)));
  };
  EXPECT_EQ(with(two, 2), wrong_keys{"relation permits"});
  EXPECT_EQ(with(two, 3), wrong_keys{});
  // Nothing is left for the rest, or for one of them.
  EXPECT_EQ(with({{"a", 0.5}, {"b", 0.5}}, 1), wrong_keys{"relation permits"});
  EXPECT_EQ(with({{"a", 0.5}, {"b", 0.5}}, 2), wrong_keys{});
  EXPECT_EQ(with({{"a", 0}, {"b", 1}}, 1), wrong_keys{});
  adaptive_limit_config c;
  c.min_limit = 2;
  c.max_waiters = 10;
  c.partitions.list = two;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{"relation min_limit"});
  // Nor while the baseline is measured.
  c.min_limit = 3;
  c.measure_limit = 2;
  EXPECT_EQ(kinds_and_keys(problems_of(c)),
            wrong_keys{"relation measure_limit"});
  c.algorithm = limit_algorithm::vegas;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{});
  c.algorithm = limit_algorithm::gradient;
  c.measure_limit = 3;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{});
}

TEST(partitions, refuse_settings_without_effect) {
  auto c = partitioned({});
  c.partitions.borrow = false;
  c.partitions.reject_delay = 1s;
  EXPECT_EQ(kinds_and_keys(problems_of(c)),
            (wrong_keys{"relation borrow", "relation reject_delay"}));
  c.partitions = {};
  c.partitions.by_call = [](const call_info&) { return "x"; };
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{"relation partitions"});
  c = partitioned(two);
  c.max_waiters = 0;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{"relation partitions"});
  c.partitions.borrow = false;
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{});
  c.partitions = {.list = two, .reject_delay = 1ms};
  EXPECT_EQ(kinds_and_keys(problems_of(c)), wrong_keys{});
}

TEST(partitions, are_read_changed_and_removed_by_name) {
  auto read = [](semaphore_config& c, std::map<std::string, std::string> x) {
    return kinds_and_keys(change_settings(settings_from_text(x), {}, c));
  };
  auto c = partitioned({});
  EXPECT_EQ(read(c, {{"partitions.live", "0.7"}, {"partitions.batch", "0.2"}}),
            wrong_keys{});
  EXPECT_EQ(c.partitions.list, (share_list{{"batch", 0.2}, {"live", 0.7}}));
  EXPECT_EQ(read(c, {{"partitions.live", "0.5"}, {"partitions.batch", "none"}}),
            wrong_keys{});
  EXPECT_EQ(c.partitions.list, (share_list{{"live", 0.5}}));
  EXPECT_EQ(read(c, {{"partitions.other", "0.6"}}),
            wrong_keys{"relation partitions"});
  EXPECT_EQ(read(c, {{"partitions.other", "much"}}),
            wrong_keys{"type partitions.other"});
  EXPECT_EQ(read(c, {{"partitions.other", "2"}}),
            wrong_keys{"range partitions.other"});
  EXPECT_EQ(c.partitions.list, (share_list{{"live", 0.5}}));
  auto file = settings_from_text({{"max_delayed", "1"}});
  EXPECT_EQ(kinds_and_keys(read_settings(file, {}, c)),
            wrong_keys{"relation max_delayed"});
}

TEST(partitions, by_key_make_no_sense_per_key) {
  keyed_config<semaphore> k{partitioned(two), {}};
  EXPECT_EQ(kinds_and_keys(problems_of(k)), wrong_keys{"relation partitions"});
  k.partitions.by_call = [](const call_info&) { return "live"; };
  EXPECT_EQ(kinds_and_keys(problems_of(k)), wrong_keys{});
  adaptive_limit_config a;
  a.max_waiters = 5;
  a.partitions.list = two;
  keyed_config<adaptive_limit> l{a, {}};
  EXPECT_EQ(kinds_and_keys(problems_of(l)), wrong_keys{"relation partitions"});
}

// -- guaranteed parts ---------------------------------------------------------

TEST(partitions, split_the_limit_into_whole_permits) {
  using numbers = std::vector<std::int64_t>;
  constexpr auto percent = detail::whole_share / 100;
  struct row {
    std::int64_t limit;
    numbers percents;
    numbers expected;
  };
  for (const auto& x : std::vector<row>{
         {10, {100}, {10}},
         {10, {70, 20, 10}, {7, 2, 1}},
         {20, {70, 20, 10}, {14, 4, 2}},
         {3, {70, 20, 10}, {1, 1, 1}},
         {2, {70, 20, 10}, {1, 1, 0}},
         {1, {70, 20, 10}, {1, 0, 0}},
         {0, {70, 20, 10}, {0, 0, 0}},
         {10, {33, 33, 34}, {3, 3, 4}},
         {10, {33, 33, 33, 1}, {3, 3, 3, 1}},
         {10, {25, 25, 25, 25}, {3, 3, 2, 2}},
         {10, {100, 0}, {10, 0}},
         {10, {0, 100}, {0, 10}},
         {4, {98, 1, 1}, {2, 1, 1}},
         {1'000'000, {99, 1}, {990'000, 10'000}},
       }) {
    auto shares = x.percents;
    for (auto& s : shares)
      s *= percent;
    EXPECT_EQ(detail::split_limit(x.limit, shares), x.expected)
      << "limit " << x.limit;
  }
}

} // namespace
} // namespace caisson::test
