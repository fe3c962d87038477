// Times to threshold at the command line.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>
#include <simulator/play/run.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using testing::HasSubstr;
using json = nlohmann::ordered_json;
using strings = std::vector<std::string>;

// With one server 100 requests a second of 15 ms are too many, with two not.
constexpr auto passed_shop = R"(length = "2s"
[service.web]
time = "15ms"
[load.users]
kind = "constant"
rate = 100
target = "web"
)";

class threshold_command : public testing::Test {
protected:
  threshold_command() { parts_.play = run_arm; }

  int run(strings args, const std::string& more = {}) {
    auto file = dir_.write("shop.toml", passed_shop + more).string();
    args.insert(args.begin() + 1, file);
    return test::run_command(args, out_, err_, parts_);
  }

  [[nodiscard]] strings lines() const {
    std::istringstream in{out_.str()};
    strings out;
    for (std::string line; std::getline(in, line);)
      out.push_back(line);
    return out;
  }

  test::scratch_dir dir_;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
};

const strings swept{"sweep", "--set", "service.web.workers=1,2", "--metric",
                    "first(service.web.queue >= 3)"};

strings also(strings args, const strings& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST_F(threshold_command, are_swept_under_the_name_that_was_given) {
  ASSERT_EQ(run(swept), 0) << err_.str();
  ASSERT_GE(lines().size(), 5u);
  EXPECT_THAT(lines()[2], HasSubstr("first(service.web.queue >= 3)"));
  EXPECT_TRUE(lines()[3].ends_with(" 70.0 ms")) << lines()[3];
  EXPECT_TRUE(lines()[4].ends_with(" never")) << lines()[4];
  ASSERT_EQ(run(also(swept, {"--csv", "-"})), 0);
  EXPECT_EQ(lines(),
            (strings{"service.web.workers,arm,seed,verdict,first("
                     "service.web.queue >= 3)",
                     "1,default,1,no fault,0.07", "2,default,1,no fault,inf"}));
}

TEST_F(threshold_command, may_be_infinite_with_some_seeds_only) {
  // Each seed fails at random.
  auto args = also(swept, {"--seeds", "9", "--metric", "first(failed > 0)"});
  ASSERT_EQ(run(also(args, {"--set", "service.web.errors=0.003"})), 0)
    << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(" to never)"));
  ASSERT_EQ(run(also(args, {"--json", "-"})), 0);
  auto all = json::parse(out_.str());
  const auto& s = all["summaries"].at(1)["metrics"]["first(failed > 0)"];
  EXPECT_TRUE(s["max"].is_null());
}

TEST_F(threshold_command, that_make_no_sense_are_refused) {
  for (std::string name :
       {"first(service.web.queue < 3)", "first(goodput)",
        "first(service.db.queue > 3)", "first(service.web.wait > 3)"}) {
    EXPECT_EQ(
      run({"sweep", "--set", "service.web.workers=1,2", "--metric", name}), 2)
      << name;
    EXPECT_THAT(err_.str(), HasSubstr("--metric")) << name;
  }
}

TEST_F(threshold_command, can_be_what_is_tuned_for) {
  strings args{"tune",
               "--vary",
               "service.web.workers=1..3",
               "--best",
               "min:service.web.workers",
               "--need",
               "first(service.web.queue >= 3) >= 1s"};
  ASSERT_EQ(run(also(args, {"--json", "-"})), 0) << err_.str();
  auto all = json::parse(out_.str());
  auto winner = all["winner"].get<std::size_t>();
  EXPECT_EQ(all["candidates"].at(winner)["settings"]["service.web.workers"], 2);
  // Within the brackets is no bound of the goal.
  EXPECT_EQ(
    run({"tune", "--vary", "service.web.workers=1..3", "--best",
         "min:service.web.workers", "--need", "first(service.web.queue >= 3)"}),
    2);
  EXPECT_THAT(err_.str(), HasSubstr("is not a need"));
}

TEST_F(threshold_command, are_reported_without_rows_and_for_all_seeds) {
  const std::string check = "[[expect.check]]\nmetric = 'first(good < 10)'\n"
                            "min = 5\n[[expect.check]]\nmetric = "
                            "'first(service.web.queue >= 3)'\nmax = '70ms'\n";
  EXPECT_EQ(run({"run", "--seeds", "3", "--rows", "2s"}, check), 0)
    << out_.str();
  auto file = (dir_ / "out.json").string();
  EXPECT_EQ(run({"run", "--json", file, "--no-rows"}, check), 0) << out_.str();
}

} // namespace
} // namespace caisson::sim
