// The text of a scrape, shared by all that ask for it at once.
#include <caisson/observe/metrics/detail/page.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using detail::metrics_page;

TEST(metrics_page, is_made_once_for_all_that_ask_meanwhile) {
  std::atomic<int> page_count{0};
  std::atomic<int> asking{0};
  std::mutex gate;
  gate.lock();
  metrics_page page{[&] {
                      auto n = ++page_count;
                      std::lock_guard wait{gate};
                      return "page " + std::to_string(n);
                    },
                    0ns};
  std::vector<metrics_page::text> got(8);
  std::vector<std::thread> scrapes;
  for (auto& x : got)
    scrapes.emplace_back([&] {
      ++asking;
      x = page.plain();
    });
  while (asking < 8 || page_count == 0)
    std::this_thread::yield();
  // So that the last ones wait as well.
  std::this_thread::sleep_for(50ms);
  gate.unlock();
  for (auto& x : scrapes)
    x.join();
  EXPECT_EQ(page_count, 1);
  for (const auto& x : got)
    EXPECT_EQ(x, got.front());
  EXPECT_EQ(*page.plain(), "page 2");
}

TEST(metrics_page, is_used_as_long_as_somebody_has_it_and_it_lasts) {
  int page_count = 0;
  metrics_page page{[&] { return std::to_string(++page_count); }, 1h};
  auto first = page.plain();
  EXPECT_EQ(page.plain(), first);
  first = nullptr;
  // Nobody knew that it would be needed again so soon.
  EXPECT_EQ(*page.plain(), "2");
  EXPECT_EQ(*page.plain(), "2");
  metrics_page brief{[&] { return std::to_string(++page_count); }, 0ns};
  auto x = brief.plain();
  EXPECT_NE(brief.plain(), x);
}

TEST(metrics_page, is_made_again_if_that_failed) {
  int page_count = 0;
  metrics_page page{[&]() -> std::string {
                      if (++page_count == 1)
                        throw std::runtime_error{"no memory"};
                      return "page";
                    },
                    1h};
  EXPECT_THROW((void)page.plain(), std::runtime_error);
  EXPECT_EQ(*page.plain(), "page");
}

TEST(metrics_page, is_packed_once) {
  if (!detail::can_pack())
    GTEST_SKIP() << "built without zlib";
  int page_count = 0;
  metrics_page page{[&] {
                      ++page_count;
                      return std::string(100'000, 'x');
                    },
                    1h};
  auto x = page.zipped();
  EXPECT_LT(x->size(), 1'000u);
  EXPECT_EQ(x->substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(page.zipped(), x);
  EXPECT_EQ(page_count, 1);
}

} // namespace
} // namespace caisson::test
