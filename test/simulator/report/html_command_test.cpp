// The page as the command writes it.
#include <support/command_rig.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr auto small_world = R"(
title = "A small world"
seed = 5
length = "3s"
[service.web]
time = "10ms"
[load.users]
rate = 20
target = "web"
[arm.one]
[arm."two"]
service.web.workers = 2
)";

class html_command : public testing::Test {
protected:
  html_command()
    : folder_(
      fs::path{testing::TempDir()}
      / ("html_command_"
         + std::string{
           testing::UnitTest::GetInstance()->current_test_info()->name()})) {
    fs::create_directories(folder_);
    std::ofstream{file()} << small_world;
    parts_.version = "1.2.3";
    parts_.play = [this](const arm_config& arm, const run_options& o) {
      details_.push_back(o.details.has_value());
      return run_arm(arm, o);
    };
  }

  ~html_command() override { fs::remove_all(folder_); }

  // With a name that a shell would not take for one word.
  [[nodiscard]] std::string file() const { return path("it's small.toml"); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  int run(std::vector<std::string> more) {
    std::vector<std::string> args{"run", file(), "--no-speed"};
    args.insert(args.end(), more.begin(), more.end());
    details_.clear();
    return test::run_command(args, out_, err_, parts_);
  }

  static std::string text_of(const std::string& path) {
    std::ifstream in{path};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  static json data_in(const std::string& page) {
    std::string begin = "<script id=\"data\" type=\"application/json\">";
    auto from = page.find(begin) + begin.size();
    return json::parse(page.substr(from, page.find("</script", from) - from));
  }

  fs::path folder_;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::vector<bool> details_;
};

TEST_F(html_command, writes_a_page_beside_json) {
  auto page = path("page.html");
  ASSERT_EQ(run({"--html", page, "--json", path("all.json")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("A small world"), std::string::npos);
  auto text = text_of(page);
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n")) << text.substr(text.size() - 20);
  auto data = data_in(text);
  EXPECT_EQ(data["scenario"], small_world);
  EXPECT_EQ(data["version"], "1.2.3");
  EXPECT_EQ(data["seed"], 5);
  auto all = json::parse(text_of(path("all.json")));
  for (std::size_t i = 0; i < 2; ++i)
    for (auto key : {"digest", "totals", "success", "latency"})
      EXPECT_EQ(data["arms"][i]["result"][key], all["runs"][0]["arms"][i][key])
        << key;
}

TEST_F(html_command, reports_how_to_make_the_page_again) {
  ASSERT_EQ(run({"--html", "-", "--arm", "two", "--seed", "7"}), 0);
  auto quoted = "'" + path("it") + "'\\''s small.toml'";
  EXPECT_EQ(data_in(out_.str())["command"],
            "caisson run " + quoted + " --arm two --seed 7 --html report.html");
}

TEST_F(html_command, writes_nothing_else_to_standard_output) {
  ASSERT_EQ(run({"--html", "-"}), 0);
  EXPECT_TRUE(out_.str().starts_with("<!doctype html>"));
  EXPECT_TRUE(out_.str().ends_with("</html>\n"));
}

TEST_F(html_command, leaves_the_results_as_they_are) {
  ASSERT_EQ(run({}), 0);
  EXPECT_EQ(details_, (std::vector{false, false}));
  auto without = out_.str();
  ASSERT_EQ(run({"--html", path("page.html")}), 0);
  EXPECT_EQ(details_, (std::vector{true, true}));
  EXPECT_EQ(out_.str(), without);
}

TEST_F(html_command, says_that_nothing_was_asked) {
  std::ofstream{file()} << R"(
length = "3s"
warmup = "1s"
[service.web]
[load.users]
rate = 20
target = "web"
stop = "1s"
)";
  ASSERT_EQ(run({"--seeds", "2", "--html", path("page.html"), "--json",
                 path("all.json")}),
            0)
    << err_.str();
  EXPECT_NE(out_.str().find("no requests were sent after the warm-up"),
            std::string::npos)
    << out_.str();
  EXPECT_NE(out_.str().find(" - / - / - "), std::string::npos) << out_.str();
  auto data = data_in(text_of(path("page.html")));
  EXPECT_EQ(data["arms"][0]["headline"], "no requests were sent");
  for (const auto& all : {data, json::parse(text_of(path("all.json")))})
    EXPECT_TRUE(all["verdicts"][0]["success"]["median"].is_null());
  EXPECT_TRUE(data["arms"][0]["result"]["success"].is_null());
  EXPECT_EQ(data["arms"][0]["result"]["warnings"].size(), 1u);
}

TEST_F(html_command, shows_the_first_of_several_seeds) {
  ASSERT_EQ(run({"--seeds", "3", "--html", path("page.html")}), 0);
  EXPECT_EQ(details_, (std::vector{true, true, false, false, false, false}));
  auto data = data_in(text_of(path("page.html")));
  EXPECT_EQ(data["seeds"], 3);
  EXPECT_EQ(data["verdicts"][1]["runs"], 3);
  EXPECT_EQ(data["arms"][1]["result"]["seed"], 5);
  EXPECT_GE(data["arms"][1]["rows"], 3);
  EXPECT_NE(data["command"].get<std::string>().find(" --seed 5 --seeds 3 "),
            std::string::npos);
}

TEST_F(html_command, reports_a_page_that_cannot_be_written) {
  EXPECT_EQ(run({"--html", path("no/such/page.html")}), 2);
  EXPECT_NE(err_.str().find("cannot be written: No such file or directory"),
            std::string::npos);
  EXPECT_EQ(details_, std::vector<bool>{});
}

} // namespace
} // namespace caisson::sim
