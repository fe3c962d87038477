// Settings and outputs of `caisson sweep` that exclude each other.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

namespace fs = std::filesystem;
using alternative_words = std::vector<std::string>;

constexpr auto alternative_shop = R"(
length = "1s"
[service.web]
workers = 2
time = "20ms"
[load.users]
rate = 60
target = "web"
timeout = "200ms"
[arm.wide]
[arm.short]
service.web.queue = 3
)";

class sweep_alternatives : public testing::Test {
protected:
  sweep_alternatives() {
    file_ = dir_.write("shop.toml", alternative_shop).string();
    parts_.version = "1.2.3";
  }

  int run(alternative_words more) {
    more.insert(more.begin(), {"sweep", file_});
    return test::run_command(more, out_, err_, parts_);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  test::scratch_dir dir_;
  std::string file_;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
};

const alternative_words two_sizes{"--set", "service.web.workers=1..2"};

alternative_words and_more(alternative_words a, const alternative_words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Whichever comes first.
TEST_F(sweep_alternatives, are_refused_if_none_go_together) {
  const std::pair<alternative_words, std::string> cases[] = {
    {{"--set", "load.users.rate=5", "--set", "load.users.users=3"},
     "--set: load.users.users: cannot be set together with load.users.rate"},
    {{"--set", "load.users.users=3", "--set", "load.users.rate=5"},
     "--set: load.users.rate: cannot be set together with load.users.users"},
    {{"--set", "load.users.rate=5", "--set", "load.users.kind=closed"},
     "--set: load.users.kind: cannot be set together with load.users.rate: one "
     "excludes the other\n"},
    {{"--set", "load.users.mix={web=1}", "--set", "load.users.target=web"},
     "--set: load.users.target: cannot be set together with load.users.mix"},
    {{"--set", "service.web.codel_target=5ms", "--set",
      "service.web.order=lifo,fifo"},
     "--set: service.web.order: cannot be set together with "
     "service.web.codel_target: one excludes the other\n"},
    {{"--set", "arm.wide.load.users.think=1s", "--set",
      "arm.wide.load.users.rate=5"},
     "--set: arm.wide.load.users.rate: cannot be set together with "
     "arm.wide.load.users.think: one excludes the other\n"},
  };
  for (const auto& [args, message] : cases) {
    EXPECT_EQ(run(args), 2) << message;
    EXPECT_EQ(err_.str().substr(0, message.size()), message);
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(sweep_alternatives, takes_out_what_a_value_excludes) {
  auto text = std::string{alternative_shop};
  std::string_view web = "[service.web]\n";
  text.insert(text.find(web) + web.size(),
              "order = 'codel'\ncodel_target = '1ms'\n");
  file_ = dir_.write("codel.toml", text).string();
  EXPECT_EQ(run({"--set", "service.web.order=fifo,codel,adaptive_lifo"}), 0)
    << err_.str();
  EXPECT_EQ(run({"--set", "arm.wide.service.web.order=fifo,codel"}), 0)
    << err_.str();
  EXPECT_EQ(run({"--set", "load.users.profile=[[\"0s\", 5]],[[\"0s\", 9]]"}), 0)
    << err_.str();
  alternative_words target{"--set", "service.web.codel_target=1ms,2ms"};
  alternative_words order{"--set", "service.web.order=codel,fifo"};
  for (const auto& both : {and_more(target, order), and_more(order, target)}) {
    EXPECT_EQ(run(both), 0) << err_.str();
    EXPECT_EQ(err_.str(), "caisson: warning: service.web.codel_target changes "
                          "nothing where service.web.order is fifo\n");
  }
}

TEST_F(sweep_alternatives, refuses_two_outputs_behind_links_to_one_file) {
  fs::create_symlink(path("new"), path("a"));
  fs::create_symlink("new", path("b"));
  for (auto [json, csv] : {std::pair{"a", "b"}, {"a", "new"}, {"new", "b"}}) {
    EXPECT_EQ(
      run(and_more(two_sizes, {"--json", path(json), "--csv", path(csv)})), 2);
    EXPECT_EQ(err_.str().substr(0, 7), "--csv: ");
    EXPECT_NE(err_.str().find(" is the same file as that of --json"),
              std::string::npos);
  }
}

// Nothing is kept beside what is no file.
TEST_F(sweep_alternatives, keeps_results_beside_files_only) {
  fs::create_symlink("/dev/null", path("null"));
  ASSERT_EQ(run(and_more(two_sizes, {"--json", path("null")})), 0);
  EXPECT_FALSE(fs::exists(path("null.state")));
  ASSERT_EQ(
    run(and_more(two_sizes, {"--json", path("null"), "--csv", path("csv")})),
    0);
  EXPECT_FALSE(fs::exists(path("null.state")));
  EXPECT_TRUE(fs::exists(path("csv.state")));
}

TEST_F(sweep_alternatives, warns_of_an_alternative_that_an_arm_sets) {
  file_ = dir_
            .write("users.toml", std::string{alternative_shop}
                                   + "load.users.kind = \"closed\"\n"
                                     "load.users.users = 3\n")
            .string();
  ASSERT_EQ(run({"--set", "load.users.rate=30,40"}), 0) << err_.str();
  EXPECT_EQ(err_.str(), "caisson: warning: load.users.rate does not change arm "
                        "short, which sets load.users.kind itself\n");
  ASSERT_EQ(run({"--set", "load.users.timeout=1s", "--set",
                 "arm.wide.load.users.timeout=2s"}),
            0);
  EXPECT_EQ(err_.str(), "caisson: warning: load.users.timeout does not change "
                        "arm wide, which sets that itself\n");
}

TEST_F(sweep_alternatives, runs_without_requests_are_warned_of) {
  // Two arms each; the settings stay in the outputs as they are.
  EXPECT_EQ(run({"--set", "load.users.stop=1ns,1s", "--csv", "-"}), 0);
  EXPECT_EQ(err_.str(),
            "caisson: warning: no request began in 2 of 4 runs (or "
            "none after the warm-up): their numbers are meaningless\n");
  EXPECT_EQ(out_.str().find("offered"), std::string::npos) << out_.str();
}

} // namespace
} // namespace caisson::sim
