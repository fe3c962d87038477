// A setting keeps its place in the order of the file, and an arm keeps what
// it inherits around it. Of two things that are set one may replace the other.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>
#include <support/sim_results.hpp>

#include <simulator/play/world_hash.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/sweep_path.hpp>
#include <simulator/scenario/sweep_values.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/toml.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

constexpr std::string_view ordered_world = R"(
length = "1s"
[service.web]
autoscale = { by = "queue", every = "1s", max = 9 }
time = { kind = "lognormal", mean = "5ms", cv = 2.0 }
[service.db]
[service.db.op.put]
[service.db.op.get]
time = { kind = "exponential", mean = "1ms" }
[load.z]
rate = 10
mix = { web = 1, "db.put" = 2, "db.get" = 3 }
pause = { kind = "exponential", base = "9ms" }
[load.a]
rate = 20
target = "web"
[arm.x]
[arm.x.stack.s]
layer = [{ kind = "semaphore", permits = 3 }]
[arm.y]
)";

settings read(std::string_view text) {
  problems found;
  auto root = parse_toml(text, "w.toml", found);
  EXPECT_TRUE(found.empty());
  return root;
}

arm_config world_of(const settings& root, std::size_t arm = 1) {
  return scenario_from(root, "w.toml",
                       recording_source{std::filesystem::path{}})
    .arms.at(arm);
}

settings with(std::string_view text, const std::string& path,
              const std::string& value, const std::string& place = "--set") {
  auto root = read(text);
  problems found;
  auto p = parse_path(path);
  auto values = read_sweep_values(value, *p, place, found);
  EXPECT_TRUE(found.empty()) << path;
  EXPECT_FALSE(path_problem(root, *p)) << path;
  set_at(root, *p, values.at(0).value);
  return root;
}

std::string order_of(const arm_config& a) {
  std::string out;
  for (const auto& s : a.services)
    for (const auto& op : s.operations)
      out += op.name + " ";
  for (const auto& load : a.loads) {
    out += load.name + ":";
    for (const auto& [name, weight] : load.mix)
      out += fmt::format(" {}={}", name, weight);
    out += "; ";
  }
  return out;
}

TEST(setting_order, is_that_of_the_file_whatever_is_set) {
  auto plain = order_of(world_of(read(ordered_world)));
  EXPECT_EQ(plain, "web db.put db.get z: web=1 db.put=2 db.get=3; a: web=1; ");
  // Also if what is set comes from the beginning of the file.
  for (const auto* place : {"--set", "w.toml:1:1"})
    for (auto [path, value] : {
           std::pair{"load.a.rate", "20"},
           {"load.a.priority", "0"},
           {"load.z.mix.\"db.get\"", "3"},
           {"load.a", "{ rate = 20, target = \"web\" }"},
           {"service.db.op.get.time", "1ms"},
           {"service.db.workers", "2"},
           {"arm.y.load.a.rate", "5"},
           {"arm.y.load.z.mix.\"db.put\"", "2"},
           {"arm.y.service.db.op.get.time.mean", "2ms"},
         })
      EXPECT_EQ(order_of(world_of(with(ordered_world, path, value, place))),
                plain)
        << path << " " << place;
}

TEST(setting_order, of_an_arm_that_stands_first_is_that_of_the_file) {
  std::string text{ordered_world};
  auto early = "[arm.x.load.a]\nrate = 1\n[arm.x.service.db]\nworkers = 3\n"
               "[arm.y]\n"
               + text.substr(0, text.find("[arm.x]"));
  auto rest = early.find("\nlength");
  EXPECT_EQ(
    order_of(world_of(read("length = \"1s\"\n" + early.erase(rest, 14)), 0)),
    order_of(world_of(read(ordered_world))));
}

TEST(setting_order, has_what_is_new_at_the_end) {
  auto root = with(ordered_world, "load.a", "{ rate = 20, mix = { web = 1 } }");
  auto p = parse_path("load.a.mix.\"db.get\"");
  set_at(root, *p, {std::int64_t{4}, "--set"});
  EXPECT_NE(order_of(world_of(root)).find("a: web=1 db.get=4; "),
            std::string::npos);
}

TEST(setting_in_an_arm, keeps_what_is_inherited_around_it) {
  auto arm = [](const char* path, const char* value) {
    return world_of(with(ordered_world, path, value));
  };
  auto plain = world_of(read(ordered_world));
  auto same_text = [](const service_config& x, const service_config& y) {
    return x.autoscale->every == y.autoscale->every
           && x.autoscale->by == y.autoscale->by;
  };
  auto scaled = arm("arm.y.service.web.autoscale.max", "3");
  EXPECT_EQ(scaled.services[0].autoscale->max, 3u);
  EXPECT_TRUE(same_text(scaled.services[0], plain.services[0]));
  auto hash = [&](const char* path, const char* value) {
    auto root = with(ordered_world, path, value);
    return world_hash(root, world_of(root), "v");
  };
  // A value that it inherits anyway changes nothing.
  auto root = read(ordered_world);
  auto before = world_hash(root, plain, "v");
  for (auto [path, value] : {
         std::pair{"arm.y.service.web.autoscale.max", "9"},
         {"arm.y.service.web.time.mean", "5ms"},
         {"arm.y.service.db.op.get.time.mean", "1ms"},
         {"arm.y.load.z.mix.web", "1"},
         {"arm.y.load.z.pause.base", "9ms"},
       })
    EXPECT_EQ(hash(path, value), before) << path;
  EXPECT_NE(hash("arm.y.load.z.mix.web", "2"), before);
}

TEST(world_hash, differs_with_the_order_of_loads_and_mixes) {
  auto hash = [](std::string text) {
    auto root = read(text);
    return world_hash(root, world_of(root), "v");
  };
  std::string text{ordered_world};
  auto before = hash(text);
  auto swapped = text;
  auto a = text.find("[load.a]");
  auto z = text.find("[load.z]");
  auto end = text.find("[arm.x]");
  swapped = text.substr(0, z) + text.substr(a, end - a) + text.substr(z, a - z)
            + text.substr(end);
  EXPECT_NE(hash(swapped), before);
  auto mixed = text;
  mixed.replace(mixed.find("web = 1, \"db.put\" = 2"), 21,
                "\"db.put\" = 2, web = 1");
  EXPECT_NE(hash(mixed), before);
}

TEST(sweep_values, are_shown_in_the_order_in_which_they_are_written) {
  problems found;
  auto values = read_sweep_values("{b = 1, a = 2},{a = 2, b = 1}",
                                  setting_path{} / "x", "--set", found);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].text, "{b = 1, a = 2}");
  EXPECT_EQ(values[1].text, "{a = 2, b = 1}");
}

// -- two settings -------------------------------------------------------------

// Whatever one does to what is around the other.
TEST(setting_pairs, are_swept_or_refused) {
  test::scratch_dir dir;
  command_parts parts;
  std::ostringstream out;
  std::ostringstream err;
  auto file = dir
                .write("rich.toml", R"(
length = "3s"
[service.web]
workers = 2
time = { kind = "exponential", mean = "20ms" }
[load.users]
rate = 60
target = "web"
[stack.s]
layer = [{ kind = "breaker" }]
[[fault]]
kind = "stall"
target = "web"
at = "1s"
for = "1s"
[arm.short]
service.web.queue = 3
[arm.guarded]
[[arm.guarded.edge]]
to = "web"
stack = "s"
)")
                .string();
  parts.play = [](const arm_config& arm, const run_options& o) {
    auto r = small_result();
    r.name = arm.name;
    r.seed = o.seed;
    return r;
  };
  const std::vector<std::string> sets{
    "length=2s",
    "service=1",
    "service={}",
    "service.web=4",
    "service.web={ workers = 3 }",
    "service.web.workers=2",
    "service.web.time=1ms",
    "service.web.time.mean=1ms",
    "service.web.order=codel",
    "load=1",
    "load.users={ rate = 3, target = \"web\" }",
    "load.users.rate=10",
    "load.users.kind=closed",
    "load.users.users=3",
    "stack=1",
    "stack.s=[]",
    "stack.s.layer=[]",
    "stack.s.layer[0]={ kind = \"limiter\" }",
    "stack.s.layer[0].threshold=3",
    "fault=[]",
    "fault[0]=1",
    "fault[0].at=1500ms",
    "arm.short=1",
    "arm.short={}",
    "arm.short.service.web.queue=4",
    "arm.short.service.web=1",
    "arm.guarded.stack.s.layer=[]",
    "arm.guarded.edge=[]",
    "arm.guarded.edge[0].stack=s",
  };
  std::map<int, int> seen;
  for (const auto& a : sets)
    for (const auto& b : sets) {
      auto status = test::run_command({"sweep", file, "--set", a, "--set", b},
                                      out, err, parts);
      ++seen[status];
      EXPECT_TRUE(status == 0 || (status == 2 && !err.str().empty()))
        << a << " and " << b << ": " << status << " " << err.str();
    }
  EXPECT_GT(seen[0], 50);
  EXPECT_GT(seen[2], 50);
}

} // namespace
} // namespace caisson::sim
