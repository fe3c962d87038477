// The complete examples in the docs are right.
#include <support/source_dir.hpp>

#include <simulator/play/run.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/scenario/scenario.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// The code blocks of the page that follow the mark of a whole scenario.
std::vector<std::string> examples_in(const std::string& page) {
  std::ifstream in{test::source_path("docs") / page};
  std::stringstream all;
  all << in.rdbuf();
  const auto text = all.str();
  const std::string mark = "<!-- scenario -->\n```toml\n";
  std::vector<std::string> out;
  for (auto i = text.find(mark); i != std::string::npos;
       i = text.find(mark, i)) {
    i += mark.size();
    out.push_back(text.substr(i, text.find("```", i) - i));
  }
  return out;
}

TEST(examples_in_the_docs, run_and_keep_what_they_promise) {
  auto examples = examples_in("simulator.md");
  EXPECT_EQ(examples.size(), 2u);
  for (auto& text : examples_in("scenario-format.md"))
    examples.push_back(std::move(text));
  EXPECT_EQ(examples.size(), 3u);
  for (const auto& text : examples) {
    auto s = parse_scenario(text, "docs/simulator.md");
    for (const auto& arm : s.arms) {
      auto r = run_arm(arm, {});
      EXPECT_GT(r.totals.good, 1000u);
      EXPECT_EQ(failed_expectations(arm, r), std::vector<std::string>{});
    }
  }
}

} // namespace
} // namespace caisson::sim
