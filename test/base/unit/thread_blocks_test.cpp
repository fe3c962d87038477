#include <caisson/base/thread_blocks.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using blocks = caisson::detail::thread_blocks;

constexpr bool keeps = blocks::pools;

// What a thread keeps is its own, so each test has one.
template <class F>
void in_new_thread(F f) {
  std::thread{f}.join();
}

TEST(thread_blocks, gives_the_block_again_that_came_back_last) {
  if (!keeps)
    GTEST_SKIP();
  in_new_thread([] {
    auto* a = blocks::take(100);
    auto* b = blocks::take(128);
    std::memset(a, 1, 100);
    std::memset(b, 2, 128);
    EXPECT_NE(a, b);
    blocks::give_back(a, 100);
    blocks::give_back(b, 128);
    EXPECT_EQ(blocks::kept(65), 2u);
    EXPECT_EQ(blocks::take(65), b);
    EXPECT_EQ(blocks::take(110), a);
    EXPECT_EQ(blocks::kept(65), 0u);
    blocks::give_back(a, 110);
    blocks::give_back(b, 65);
  });
}

TEST(thread_blocks, does_not_mix_sizes) {
  in_new_thread([] {
    auto* small = blocks::take(64);
    blocks::give_back(small, 64);
    EXPECT_EQ(blocks::kept(65), 0u);
    for (std::size_t n : {1, 64, 65, 192, 193, 256, 257, 4'000}) {
      auto* p = blocks::take(n);
      std::memset(p, 3, n);
      blocks::give_back(p, n);
      EXPECT_EQ(blocks::kept(n), keeps && n <= blocks::largest ? 1u : 0u) << n;
    }
  });
}

TEST(thread_blocks, keeps_no_more_than_it_may) {
  in_new_thread([] {
    std::vector<void*> all;
    for (std::uint32_t i = 0; i < 2 * blocks::most; ++i)
      all.push_back(blocks::take(40));
    for (auto* p : all)
      blocks::give_back(p, 40);
    EXPECT_EQ(blocks::kept(40), keeps ? blocks::most : 0u);
  });
}

TEST(thread_blocks, can_be_freed_by_another_thread) {
  in_new_thread([] {
    auto* p = blocks::take(40);
    in_new_thread([p] {
      blocks::give_back(p, 40);
      EXPECT_EQ(blocks::kept(40), keeps ? 1u : 0u);
    });
    EXPECT_EQ(blocks::kept(40), 0u);
  });
}

// Frees its object as one of the last things that its thread does.
struct late {
  ~late() {
    blocks::give_back(p, 40);
    EXPECT_EQ(blocks::kept(40), 0u);
    blocks::give_back(blocks::take(200), 200);
    EXPECT_EQ(blocks::kept(200), 0u);
  }
  void* p;
};

TEST(thread_blocks, keeps_nothing_once_the_thread_ends) {
  in_new_thread([] {
    thread_local late last{blocks::take(40)};
    EXPECT_NE(last.p, nullptr);
    auto* p = blocks::take(200);
    blocks::give_back(p, 200);
    EXPECT_EQ(blocks::kept(200), keeps ? 1u : 0u);
  });
}

} // namespace
