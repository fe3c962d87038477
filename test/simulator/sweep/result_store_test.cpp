// Results that are kept from one sweep to the next.
#include <support/scratch.hpp>
#include <support/sim_results.hpp>

#include <simulator/play/run_result.hpp>
#include <simulator/sweep/result_store.hpp>

#include <caisson/settings/problem.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace caisson::sim {
namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

run_result stored_run(double x) {
  return {verdict_kind::stuck, {{"goodput", x}, {"recovery", infinity}}};
}

class result_store_test : public testing::Test {
protected:
  [[nodiscard]] std::string text() const {
    std::ifstream in{file_, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  void write(const std::string& text) const {
    std::ofstream{file_, std::ios::binary} << text;
  }

  test::scratch_dir dir_;
  std::filesystem::path state_ = dir_ / "a/b.state";
  std::filesystem::path file_ = state_ / "cells";
};

TEST(run_result, is_the_same_after_being_written) {
  run_result c{verdict_kind::no_fault,
               {{"a", 0.1},
                {"b", 1.0 / 3},
                {"c", infinity},
                {"d", -0.0},
                {"e", 123456789012345678.0},
                {"gate.a -> b.\"x\"", 5e-324}}};
  EXPECT_EQ(read_run(run_text(c)), c);
  c.metrics = {{"a", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_TRUE(std::isnan(read_run(run_text(c))->metrics.at("a")));
  EXPECT_EQ(run_text(c).find('\n'), std::string::npos);
}

TEST(run_result, is_not_read_from_a_part) {
  auto text = run_text(stored_run(1.5));
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_EQ(read_run(text.substr(0, n)), std::nullopt) << n;
  for (auto wrong : {"null", "[]", "{}", R"({"verdict":"fine","metrics":{}})",
                     R"({"verdict":"stuck","metrics":{"a":1}})",
                     R"({"verdict":"stuck","metrics":{"a":"1x"}})",
                     R"({"verdict":3,"metrics":{}})"})
    EXPECT_EQ(read_run(wrong), std::nullopt) << wrong;
}

TEST(run_result, has_what_was_asked_for_and_what_is_usual) {
  auto c = run_result_of(small_result(),
                         {"service.web.utilization", "gate.no.such"});
  EXPECT_EQ(c.verdict, verdict_kind::recovered);
  EXPECT_EQ(c.metrics.at("service.web.utilization"), 0.75);
  EXPECT_TRUE(std::isnan(c.metrics.at("gate.no.such")));
  EXPECT_EQ(c.metrics.at("success"), 0.75);
  EXPECT_EQ(c.metrics.at("latency.p50"), 0.004);
}

// Reading from a pipe would never come to an end.
TEST_F(result_store_test, takes_no_pipe_for_its_file) {
  std::filesystem::create_directories(state_);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  try {
    const result_store store{state_};
    FAIL();
  } catch (const config_error& e) {
    EXPECT_EQ(e.all().at(0).message,
              "is not a regular file, which is needed to keep results");
    EXPECT_EQ(e.all().at(0).place, file_.string());
  }
}

TEST_F(result_store_test, keeps_results) {
  {
    result_store s{state_};
    EXPECT_EQ(s.find("k1"), std::nullopt);
    s.add("k1", stored_run(1));
    s.add("k2", stored_run(2));
    s.add("k1", stored_run(3));
    EXPECT_EQ(s.find("k1"), stored_run(3));
  }
  result_store s{state_};
  EXPECT_EQ(s.find("k1"), stored_run(3));
  EXPECT_EQ(s.find("k2"), stored_run(2));
  EXPECT_EQ(s.find("k"), std::nullopt);
  EXPECT_EQ(s.damaged(), 0u);
}

// However much of the last line is there, the others are, and more can follow.
TEST_F(result_store_test, does_not_trust_half_a_line) {
  {
    result_store s{state_};
    s.add("k1", stored_run(1));
    s.add("k2", stored_run(2));
  }
  auto whole = text();
  auto second = whole.find('\n') + 1;
  for (auto n = second; n < whole.size(); ++n) {
    write(whole.substr(0, n));
    {
      result_store s{state_};
      EXPECT_EQ(s.find("k1"), stored_run(1));
      EXPECT_EQ(s.find("k2"), std::nullopt) << n;
      EXPECT_EQ(s.damaged(), n == second ? 0u : 1u);
      s.add("k3", stored_run(3));
    }
    result_store s{state_};
    EXPECT_EQ(s.find("k1"), stored_run(1));
    EXPECT_EQ(s.find("k3"), stored_run(3)) << n;
  }
}

TEST_F(result_store_test, does_not_trust_changed_lines) {
  {
    result_store s{state_};
    s.add("k1", stored_run(1));
  }
  auto whole = text();
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    auto changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write(changed);
    result_store s{state_};
    EXPECT_EQ(s.find("k1"), std::nullopt) << i;
  }
  write("\n\n" + whole + "nonsense\n" + std::string(1000, '\0') + "\n");
  result_store s{state_};
  EXPECT_EQ(s.find("k1"), stored_run(1));
  EXPECT_EQ(s.damaged(), 2u);
}

TEST_F(result_store_test, takes_results_from_many_at_a_time) {
  {
    result_store a{state_};
    result_store b{state_};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i)
          (t % 2 == 0 ? a : b)
            .add(std::to_string(t) + "-" + std::to_string(i), stored_run(i));
      });
  }
  result_store s{state_};
  EXPECT_EQ(s.damaged(), 0u);
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(s.find(std::to_string(t) + "-" + std::to_string(i)),
                stored_run(i));
}

TEST_F(result_store_test, says_why_it_cannot_be_used) {
  dir_.write("file", "");
  try {
    result_store s{dir_ / "file/x"};
    FAIL() << "nothing thrown";
  } catch (const config_error& e) {
    EXPECT_NE(std::string{e.what()}.find("cannot be written: "),
              std::string::npos);
  }
}

TEST(run_key, is_another_one_for_other_runs) {
  auto key = run_key(1, "a", 1);
  EXPECT_EQ(run_key(1, "a", 1), key);
  EXPECT_NE(run_key(2, "a", 1), key);
  EXPECT_NE(run_key(1, "b", 1), key);
  EXPECT_NE(run_key(1, "a", 2), key);
  EXPECT_EQ(key.find_first_of(" \n"), std::string::npos);
}

} // namespace
} // namespace caisson::sim
