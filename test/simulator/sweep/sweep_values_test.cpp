// Values and paths of sweeps.
#include <simulator/scenario/sweep_config.hpp>
#include <simulator/scenario/sweep_path.hpp>
#include <simulator/scenario/sweep_values.hpp>

#include <caisson/settings/toml.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace caisson::sim {
namespace {

using strings = std::vector<std::string>;

strings texts_of(const std::string& text) {
  problems found;
  strings out;
  for (const auto& v : read_sweep_values(text, "x", "--set", found))
    out.push_back(v.text);
  for (const auto& p : found)
    out.push_back("! " + p.message);
  return out;
}

// -- values -------------------------------------------------------------------

struct values_case {
  std::string text;
  strings values;
};

TEST(sweep_values, are_lists_and_ranges) {
  const values_case cases[] = {
    {"7", {"7"}},
    {"1,2, 3", {"1", "2", "3"}},
    {"5..20/5", {"5", "10", "15", "20"}},
    {"5..22/5", {"5", "10", "15", "20"}},
    {"1..4", {"1", "2", "3", "4"}},
    {"3..3", {"3"}},
    {"-2..2/2", {"-2", "0", "2"}},
    {"1,5..20/5,100", {"1", "5", "10", "15", "20", "100"}},
    {"0.1..0.5/0.1", {"0.1", "0.2", "0.3", "0.4", "0.5"}},
    {"0..1/0.25", {"0", "0.25", "0.5", "0.75", "1"}},
    {"10ms..50ms/20ms", {"10ms", "30ms", "50ms"}},
    {"0..1s/500ms", {"0s", "500ms", "1s"}},
    {" 1 .. 3 / 2 ", {"1", "3"}},
    {"fifo,lifo", {"fifo", "lifo"}},
    {"unlimited,\"a,b\"", {"unlimited", "a,b"}},
    {"true,false", {"true", "false"}},
    {"1.50", {"1.5"}},
    {"1e3", {"1000"}},
    {"[1, 2],[3]", {"[1, 2]", "[3]"}},
    {R"({ kind = "erlang", mean = "1ms", k = 3 },2ms)",
     {R"({kind = "erlang", mean = "1ms", k = 3})", "2ms"}},
    {R"("1..3")", {"1..3"}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(texts_of(c.text), c.values) << c.text;
}

TEST(sweep_values, have_the_types_of_toml) {
  problems found;
  auto read = [&](const std::string& text) {
    return read_sweep_values(text, "x", "--set", found).at(0);
  };
  EXPECT_EQ(std::get<std::int64_t>(read("5..9/2").value.value), 5);
  EXPECT_EQ(std::get<std::int64_t>(read("5").value.value), 5);
  EXPECT_EQ(std::get<double>(read("0.5..1/0.5").value.value), 0.5);
  EXPECT_EQ(std::get<std::string>(read("5ms").value.value), "5ms");
  EXPECT_TRUE(std::get<bool>(read("true").value.value));
  EXPECT_EQ(read("5").value.place, "--set");
  EXPECT_EQ(found, problems{});
  EXPECT_EQ(read("5").number, 5);
  EXPECT_EQ(read("1500ms").number, 1.5);
  EXPECT_EQ(read("1500ms").unit, sweep_unit::seconds);
  EXPECT_TRUE(std::isnan(read("fifo").number));
  EXPECT_TRUE(std::isnan(read("unlimited").number));
}

TEST(sweep_values, are_refused_if_they_make_no_sense) {
  const std::pair<std::string, std::string> cases[] = {
    {"", "! a value is empty"},
    {"1,,2", "! a value is empty"},
    {"5..", "! \"5..\" is not a range, allowed: numbers as in 5..20/5, or "
            "durations as in 10ms..50ms/10ms"},
    {"1e2..1000/100",
     "! \"1e2..1000/100\" has a number with an exponent, 1e2, allowed in a "
     "range: numbers without one, as in 1000 or 0.001"},
    {"1..5/1E-1",
     "! \"1..5/1E-1\" has a number with an exponent, 1E-1, allowed in a range: "
     "numbers without one, as in 1000 or 0.001"},
    {"a..b/c", "! \"a..b/c\" is not a range, allowed: numbers as in 5..20/5, "
               "or durations as in 10ms..50ms/10ms"},
    {"1..5ms/1",
     "! \"1..5ms/1\" is not a range, allowed: numbers as in 5..20/5, or "
     "durations as in 10ms..50ms/10ms"},
    {"0.5..2", "! \"0.5..2\" has no step above 0, allowed: 0.5..2/STEP"},
    {"1ms..2ms", "! \"1ms..2ms\" has no step above 0, allowed: 1ms..2ms/STEP"},
    {"1..5/0", "! \"1..5/0\" has no step above 0, allowed: 1..5/STEP"},
    {"1..5/-1", "! \"1..5/-1\" has no step above 0, allowed: 1..5/STEP"},
    {"5..1/1", "! \"5..1/1\" ends before it begins"},
    {"1..1000000", "! \"1..1000000\" has 1000000 values, allowed: at most "
                   "10000"},
    {"0..999999999999999/0.000000000000001",
     "! \"0..999999999999999/0.000000000000001\" is not a range, allowed: "
     "numbers as in 5..20/5, or durations as in 10ms..50ms/10ms"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(texts_of(text), strings{message}) << text;
}

// No value is off by what doubles cannot hold.
RC_GTEST_PROP(sweep_values, decimals_are_exact, ()) {
  auto from = *rc::gen::inRange(-1000, 1000);
  auto step = *rc::gen::inRange(1, 100);
  auto count = *rc::gen::inRange(1, 50);
  auto tenths = [](int x) {
    auto sign = x < 0 ? "-" : "";
    return sign + std::to_string(std::abs(x) / 10) + "."
           + std::to_string(std::abs(x) % 10);
  };
  auto text = tenths(from) + ".." + tenths(from + step * (count - 1)) + "/"
              + tenths(step);
  problems found;
  auto all = read_sweep_values(text, "x", "", found);
  RC_ASSERT(found.empty());
  RC_ASSERT(all.size() == static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    RC_ASSERT(all[static_cast<std::size_t>(i)].number
              == std::stod(tenths(from + step * i)));
}

TEST(canonical_text, differs_where_values_differ) {
  problems found;
  auto text = [&](const std::string& toml) {
    return canonical_text(parse_toml(toml, "a", found));
  };
  EXPECT_EQ(text("a = 1\nb = 'x'"), text("b = \"x\" # b\na = 1"));
  EXPECT_EQ(text("a.b = 1"), text("[a]\nb = 1"));
  EXPECT_NE(text("a = 1"), text("a = 1.5"));
  EXPECT_NE(text("a = '1'"), text("a = 1"));
  EXPECT_NE(text("a = ['x', 'y']"), text("a = ['x\", \"y']"));
  EXPECT_NE(text("a = true"), text("a = 'true'"));
  EXPECT_EQ(found, problems{});
}

// -- paths --------------------------------------------------------------------

constexpr auto sweepable_shop = R"(
[service.db]
workers = 5
op.read.time = "1ms"
[service.web]
calls = ["db.read", { to = "db.read", count = 2 }]
[stack.few]
layer = [{ kind = "semaphore", permits = 5 }]
[[fault]]
kind = "slow"
[arm.bare]
[arm.big]
service.db.queue = 9
[[arm.big.edge]]
to = "db"
)";

settings sweepable_world() {
  problems ignored;
  return parse_toml(sweepable_shop, "shop.toml", ignored);
}

std::string said_of(const std::string& path) {
  auto parsed = parse_path(path);
  if (!parsed)
    return "no path";
  auto found = path_problem(sweepable_world(), *parsed);
  return found ? to_text(found->key) + ": " + found->message : "";
}

TEST(sweep_path, is_parsed) {
  EXPECT_EQ(to_text(*parse_path("a.b[2].c")), "a.b[2].c");
  auto quoted = *parse_path("load.u.mix.\"web.home\"");
  EXPECT_EQ(std::get<std::string>(quoted.parts()[3]), "web.home");
  for (auto wrong : {"", ".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]",
                     "a[1", "a]", "a\"b", "\"a", "a[1]b", "\"\""})
    EXPECT_EQ(parse_path(wrong), std::nullopt) << wrong;
}

TEST(sweep_path, lists_what_exists) {
  const std::pair<std::string, std::string> cases[] = {
    {"length", ""},
    {"service.db.workers", ""},
    {"service.db.queue", ""},
    {"service.db.op.read.time", ""},
    {"service.web.calls[1].count", ""},
    {"stack.few.layer[0].permits", ""},
    {"fault[0].factor", ""},
    {"arm.bare.service.db.workers", ""},
    {"arm.bare.service.db.op.read.time", ""},
    {"arm.bare.stack.few.layer[0].permits",
     "arm.bare.stack.few.layer[0]: no list has an item [0] here"},
    {"arm.big.edge[0].latency", ""},
    {"service.dbb.workers", "service.dbb: \"dbb\" is not one of: db, web"},
    {"services.db.workers",
     "services: \"services\" is not one of: arm, fault, service, stack"},
    {"service.db.op.write.time",
     "service.db.op.write: \"write\" is not one of: read"},
    {"service.db.workers.most",
     "service.db.workers.most: \"most\" does not exist: this is not a table "
     "with settings"},
    {"fault[1].factor", "fault[1]: [1] does not exist, the last one is [0]"},
    {"edge[0].latency", "edge: \"edge\" is not one of: arm, fault, service, "
                        "stack"},
    {"arm.bare.fault[0].factor",
     "arm.bare.fault[0]: no list has an item [0] here"},
    {"arm.small.service.db.workers",
     "arm.small: \"small\" is not one of: bare, big"},
    {"arm.bare.service.dbb.workers",
     "arm.bare.service.dbb: \"dbb\" is not one of: db, web"},
  };
  for (const auto& [path, message] : cases)
    EXPECT_EQ(said_of(path), message) << path;
}

TEST(sweep_path, is_set) {
  for (auto path : {"length", "service.db.workers", "service.db.queue",
                    "service.web.calls[1].count", "stack.few.layer[0].permits",
                    "fault[0].factor", "arm.bare.service.db.workers",
                    "arm.bare.service.db.op.read.time",
                    "arm.big.edge[0].latency", "arm.big.service.db.workers"}) {
    auto root = sweepable_world();
    set_at(root, *parse_path(path), {std::int64_t{42}, "here"});
    EXPECT_TRUE(has_value_at(root, *parse_path(path))) << path;
    auto text = canonical_text(root);
    EXPECT_NE(text.find("42"), std::string::npos) << path;
    // Nothing else has changed: with what was there, it is as before.
    EXPECT_EQ(text.find("42"), text.rfind("42")) << path;
  }
  auto root = sweepable_world();
  set_at(root, *parse_path("service.db.workers"), {std::int64_t{5}, "here"});
  EXPECT_EQ(canonical_text(root), canonical_text(sweepable_world()));
}

TEST(sweep_path, is_not_set_in_what_another_has_replaced) {
  const std::pair<const char*, const char*> cases[] = {
    {"service", "service.db.workers"},
    {"service.db", "service.db.workers"},
    {"stack.few", "stack.few.layer[0].permits"},
    {"stack.few.layer", "stack.few.layer[0].permits"},
    {"stack.few.layer[0]", "stack.few.layer[0].permits"},
    {"fault", "fault[0].factor"},
    {"service.db", "arm.bare.service.db.op.read.time"},
    {"arm.bare", "arm.bare.service.db.workers"},
  };
  for (auto [outer, inner] : cases) {
    auto root = sweepable_world();
    set_at(root, *parse_path(outer), {std::int64_t{4}, "first"});
    try {
      set_at(root, *parse_path(inner), {std::int64_t{1}, "second"});
      // An arm that sets the same has a table of its own.
      EXPECT_EQ(std::string_view{inner}.substr(0, 4), "arm.") << inner;
    } catch (const config_error& e) {
      ASSERT_EQ(e.all().size(), 1u);
      EXPECT_EQ(e.all()[0].place, "second");
      EXPECT_NE(e.all()[0].message.find("cannot be set together with"),
                std::string::npos);
    }
  }
  auto root = sweepable_world();
  set_at(root, *parse_path("fault"), {std::vector<setting>{}, "first"});
  EXPECT_THROW(set_at(root, *parse_path("fault[0].factor"), {2.0, "second"}),
               config_error);
}

TEST(sweep_path, excludes_the_alternatives_of_its_part) {
  const std::tuple<const char*, setting, const char*, bool> cases[] = {
    {"load.u.rate", {1.0, {}}, "load.u.users", true},
    {"load.u.rate", {1.0, {}}, "load.u.think", true},
    {"load.u.rate", {1.0, {}}, "load.u.rate", false},
    {"load.u.rate", {1.0, {}}, "load.u.target", false},
    {"load.u.rate", {1.0, {}}, "load.v.users", false},
    {"load.u.rate", {1.0, {}}, "service.u.users", false},
    {"load.u.rate", {1.0, {}}, "arm.a.load.u.users", false},
    {"load.u.rate", {1.0, {}}, "load.u", false},
    {"load.u.rate", {1.0, {}}, "load", false},
    {"load.u.target", {"web", {}}, "load.u.mix.web", true},
    {"load.u.mix", {settings{}, {}}, "load.u.mix.web", false},
    {"arm.a.load.u.rate", {1.0, {}}, "arm.a.load.u.users", true},
    {"arm.a.load.u.rate", {1.0, {}}, "arm.b.load.u.users", false},
    {"service.db.order", {"codel", {}}, "service.db.lifo_above", true},
    {"service.db.order", {"codel", {}}, "service.db.codel_target", false},
    {"service.db.order", {"fifo", {}}, "service.db.codel_target", true},
    {"length", {"1s", {}}, "seed", false},
    {"edge[0].latency", {"1s", {}}, "edge[0].loss", false},
  };
  for (const auto& [path, value, other, yes] : cases)
    EXPECT_EQ(excludes(*parse_path(path), value, *parse_path(other)), yes)
      << path << ' ' << other;
}

// -- the table ----------------------------------------------------------------

TEST(sweep_table, is_read) {
  problems found;
  auto root = parse_toml(std::string{sweepable_shop} + R"(
[sweep]
seeds = 7
metrics = ["goodput", "p99"]
[sweep.set]
"service.db.workers" = "5..15/5"
"fault[0].factor" = [2, 3.5]
"arm.big.service.db.queue" = 3
)",
                         "shop.toml", found);
  auto table = std::get<settings>(root.at("sweep").value);
  auto c = read_sweep({table, "sweep", "shop.toml:1:1"}, root, found);
  EXPECT_EQ(found, problems{});
  EXPECT_EQ(c.seeds, 7u);
  EXPECT_EQ(c.metrics, (strings{"goodput", "latency.p99"}));
  ASSERT_EQ(c.parameters.size(), 3u);
  EXPECT_EQ(c.parameters[0].name, "service.db.workers");
  EXPECT_EQ(c.parameters[0].values.size(), 3u);
  EXPECT_EQ(c.parameters[1].values[1].text, "3.5");
  EXPECT_EQ(c.parameters[2].values[0].text, "3");
}

TEST(sweep_table, is_checked) {
  problems found;
  auto root = parse_toml(std::string{sweepable_shop} + R"(
[sweep]
seeds = 0
metric = ["goodput"]
[sweep.set]
"service.dbb.workers" = "5..15/5"
"service.db.workers" = "5..1"
"service.db.queue" = []
seed = "1..4"
"arm.big" = "1"
)",
                         "shop.toml", found);
  auto table = std::get<settings>(root.at("sweep").value);
  (void)read_sweep({table, "sweep", "shop.toml:1:1"}, root, found);
  strings keys;
  for (const auto& p : found)
    keys.push_back(to_text(p.key));
  EXPECT_EQ(
    keys,
    (strings{"sweep.seeds", "service.dbb", "sweep.set.service.db.workers",
             "sweep.set.service.db.queue", "seed", "arm.big", "sweep.metric"}));
}

TEST(sweep_parameter, is_read_from_an_argument) {
  problems found;
  auto p = read_sweep_parameter("service.db.workers = 1,2", "--set",
                                sweepable_world(), found);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->name, "service.db.workers");
  EXPECT_EQ(p->values.size(), 2u);
  for (auto wrong : {"service.db.workers", "=5", "",
                     "service.db.workers=", "a..b=1", "sweep.seeds=3"})
    EXPECT_FALSE(read_sweep_parameter(wrong, "--set", sweepable_world(), found))
      << wrong;
  EXPECT_EQ(found.size(), 6u);
}

} // namespace
} // namespace caisson::sim
