// The examples of docs/configuration.md, compiled and run.
#include <support/source_dir.hpp>

#include <caisson/policy/schedule_settings.hpp>
#include <caisson/settings.hpp>
#include <caisson/settings/toml.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace caisson {
namespace {

using namespace std::chrono_literals;

// [config]
struct courier_config {
  std::uint32_t parcels = 10;
  duration patience = 30s;
  schedule pause = schedule::exponential(100ms).limit(5s);
};

void describe(field_visitor& v, courier_config& c) {
  v.integer<std::uint32_t>({"parcels", "how many at once"}, c.parcels,
                           {1, 100});
  v.on({"patience", "how long to wait at a door"}, c.patience, {1s, unlimited});
  v.on({"pause", "between two doors"}, c.pause);
}

void check(const courier_config& c, const setting_path& path, problems& out) {
  if (c.parcels > 50 && c.patience > 1h)
    out.push_back({problem_kind::relation, path / "patience",
                   to_text(c.patience) + " is too long for over 50 parcels"});
}
// [/config]

TEST(configuration_page, code_reads_and_checks_as_the_page_says) {
  // [read]
  problems found;
  auto from = parse_toml("parcels = 60\n"
                         "patience = '2h'\n"
                         "pause.kind = 'linear'\n"
                         "pause.stop = '1s'\n",
                         "courier.toml", found);
  courier_config config;
  if (found.empty())
    found = read_settings(from, "courier", config);
  auto text = to_text(found);
  // [/read]
  EXPECT_EQ(text,
            "courier.toml:4:14: courier.pause.stop: unknown key, did you mean "
            "\"step\"? known keys: kind, base, step, max, jitter, take, "
            "until\n"
            "courier.toml:2:12: courier.patience: 2h is too long for over 50 "
            "parcels");
}

TEST(configuration_page, schedules_in_code_are_as_the_page_says) {
  // [schedules]
  auto backoff = schedule::exponential(50ms).limit(2s).jittered(jitter::full);
  auto patient = schedule::constant(10ms).take(3).then(
    schedule::fibonacci(100ms).until(1min));
  // [/schedules]
  EXPECT_EQ(to_text(backoff), "exponential 50ms ×2 up to 2s, full jitter");
  EXPECT_EQ(to_text(patient),
            "constant 10ms, 3 times; then fibonacci 100ms, 1min in total");
}

// The blocks of TOML on the page that follow the line `mark`.
std::vector<std::string> blocks_after(const std::string& mark) {
  std::ifstream file{test::source_path("docs/configuration.md")};
  std::string page{std::istreambuf_iterator<char>{file}, {}};
  const auto open = mark + "\n```toml\n";
  std::vector<std::string> out;
  for (auto i = page.find(open); i != std::string::npos;
       i = page.find(open, i + 1)) {
    auto begin = i + open.size();
    out.push_back(page.substr(begin, page.find("\n```", begin) - begin));
  }
  return out;
}

TEST(configuration_page, schedules_in_toml_are_valid) {
  auto blocks = blocks_after("<!-- schedules -->");
  EXPECT_FALSE(blocks.empty());
  for (const auto& block : blocks) {
    problems found;
    for (const auto& [key, value] : parse_toml(block, "page", found)) {
      schedule s;
      read_schedule(value, key, s, found);
    }
    EXPECT_EQ(to_text(found), "");
  }
}

} // namespace
} // namespace caisson
