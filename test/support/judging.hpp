// Asks a classifier for its verdict on an outcome.
#pragma once

#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// A host that remembers what was thrown.
struct listening_env final : env {
  listening_env() : env(time_point{}, source) {}
  void callback_threw(std::string_view function,
                      std::string_view what) override {
    threw.push_back(std::string{function} + ": " + std::string{what});
  }
  random_source source{1};
  std::vector<std::string> threw;
};

/// The verdict of a classifier none of whose functions throws.
inline verdict judged(const classifier& c, const outcome& o,
                      const list_meaning& lists) {
  listening_env host;
  auto v = c.judge(o, lists, host);
  EXPECT_TRUE(host.threw.empty());
  return v;
}

} // namespace caisson::test
