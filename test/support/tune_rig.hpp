// `caisson tune` with real runs, or with results that are made up.
#pragma once

#include <support/command_rig.hpp>
#include <support/scratch.hpp>
#include <support/sim_results.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim::tuned {

using json = nlohmann::ordered_json;
using strings = std::vector<std::string>;

inline constexpr auto tuned_shop = R"(
title = "A shop"
seed = 7
length = "3s"
[service.web]
workers = 4
time = { kind = "exponential", mean = "20ms" }
[load.users]
rate = 100
target = "web"
timeout = "200ms"
)";

inline constexpr auto armed_shop = R"(
length = "3s"
[service.web]
workers = 4
time = "20ms"
[load.users]
rate = 100
target = "web"
[arm.bare]
[arm.guarded]
title = "with a bound"
[[arm.guarded.stack.few.layer]]
kind = "semaphore"
permits = 10
[[arm.guarded.edge]]
from = "users"
to = "web"
stack = "few"
)";

inline const strings web_servers{"--vary", "service.web.workers=1..8"};

inline strings joined(strings a, const strings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class tune_rig : public testing::Test {
protected:
  tune_rig() {
    write(tuned_shop);
    parts_.version = "1.2.3";
    parts_.stop = &stop_;
    parts_.jobs = 2;
    parts_.play = [this](const arm_config& arm, const run_options& o) {
      auto r = good_ ? result_of(good_(arm, o.seed)) : run_arm(arm, o);
      std::lock_guard guard{mutex_};
      played_.emplace_back(arm, o.seed);
      if (played_.size() == stop_after_)
        stop_ = true;
      return r;
    };
  }

  void write(const std::string& text) {
    file_ = dir_.write("shop.toml", text).string();
  }

  // A run that has so many good ones of 1000 requests.
  static arm_result result_of(std::uint64_t good) {
    auto r = result_with({{3, 1000, good}});
    r.totals.offered = 1000;
    r.totals.good = good;
    r.totals.failed = 1000 - good;
    return r;
  }

  int run(strings more) {
    more.insert(more.begin(), {"tune", file_});
    played_.clear();
    return test::run_command(more, out_, err_, parts_);
  }

  json json_of(strings more, int expected = 0) {
    more.insert(more.end(), {"--json", "-"});
    EXPECT_EQ(run(more), expected) << err_.str();
    auto all = json::parse(out_.str(), nullptr, false);
    EXPECT_TRUE(all.is_object()) << out_.str() << err_.str();
    return all;
  }

  [[nodiscard]] json winner(const json& all) const {
    return all["candidates"][all["winner"].get<std::size_t>()]["settings"];
  }

  void expect_refused(const strings& args, const std::string& message) {
    EXPECT_EQ(run(args), 2) << message;
    EXPECT_NE(err_.str().find(message), std::string::npos) << err_.str();
    EXPECT_EQ(out_.str(), "");
    EXPECT_TRUE(played_.empty());
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  test::scratch_dir dir_;
  std::string file_;
  std::atomic<bool> stop_{false};
  std::size_t stop_after_ = 0;
  std::function<std::uint64_t(const arm_config&, std::uint64_t seed)> good_;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::mutex mutex_;
  std::vector<std::pair<arm_config, std::uint64_t>> played_;
};

} // namespace caisson::sim::tuned
