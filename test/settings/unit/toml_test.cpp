#include <caisson/policy/schedule_settings.hpp>

#include <support/scratch.hpp>
#include <support/toml_texts.hpp>

#include <gtest/gtest.h>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

const settings& table(const setting& s) {
  return std::get<settings>(s.value);
}

// The problems of a text that is called `f`.
std::string toml_complaint(std::string_view text) {
  problems found;
  (void)parse_toml(text, "f", found);
  return to_text(found);
}

TEST(toml, every_value_has_its_type_and_its_place) {
  auto s = parsed("a = 1\n"
                  "b = 2.5\n"
                  "  c = true\n"
                  "d = \"x\"\n"
                  "e = [ 'y', 3 ]\n");
  EXPECT_EQ(std::get<std::int64_t>(s.at("a").value), 1);
  EXPECT_EQ(std::get<double>(s.at("b").value), 2.5);
  EXPECT_EQ(std::get<bool>(s.at("c").value), true);
  EXPECT_EQ(std::get<std::string>(s.at("d").value), "x");
  const auto& e = std::get<std::vector<setting>>(s.at("e").value);
  EXPECT_EQ(std::get<std::string>(e.at(0).value), "y");
  EXPECT_EQ(std::get<std::int64_t>(e.at(1).value), 3);
  EXPECT_EQ(s.at("a").place, "f:1:5");
  EXPECT_EQ(s.at("c").place, "f:3:7");
  EXPECT_EQ(s.at("e").place, "f:5:5");
  EXPECT_EQ(e.at(1).place, "f:5:12");
}

TEST(toml, tables_nest_in_every_notation) {
  auto s = parsed("[a.b]\n"
                  "c = 1\n"
                  "d.e = 2\n"
                  "f = { g = 3 }\n"
                  "[[h]]\n"
                  "[[h]]\n"
                  "i = 4\n");
  const auto& b = table(table(s.at("a")).at("b"));
  EXPECT_EQ(std::get<std::int64_t>(b.at("c").value), 1);
  EXPECT_EQ(table(b.at("d")).at("e").place, "f:3:7");
  EXPECT_EQ(table(b.at("f")).at("g").place, "f:4:11");
  const auto& h = std::get<std::vector<setting>>(s.at("h").value);
  ASSERT_EQ(h.size(), 2u);
  EXPECT_EQ(h[1].place, "f:6:1");
  EXPECT_EQ(table(h[1]).at("i").place, "f:7:5");
}

TEST(toml, an_empty_document_is_an_empty_table) {
  EXPECT_TRUE(parsed("").empty());
  EXPECT_TRUE(parsed("# nothing\n\n").empty());
}

TEST(toml, a_syntax_error_is_one_problem_with_its_place) {
  EXPECT_TRUE(
    toml_complaint("a = 1\nb = \nc = ]\n").starts_with("f:2:5: not TOML: "));
  EXPECT_TRUE(toml_complaint("a = \"x").starts_with("f:1:7: not TOML: "));
  EXPECT_TRUE(toml_complaint("a = 99999999999999999999").find("64 bits")
              != std::string::npos);
  EXPECT_TRUE(toml_complaint("\xff\xfe").starts_with("f:1:"));
}

TEST(toml, a_key_given_twice_is_an_error) {
  EXPECT_TRUE(toml_complaint("a = 1\na = 2\n").starts_with("f:2:"));
  EXPECT_TRUE(toml_complaint("[a]\n[a]\n").starts_with("f:2:"));
}

TEST(toml, dates_and_times_are_refused) {
  constexpr auto rest = " is a date or a time of day, which no setting is; "
                        "durations are texts such as \"250ms\"";
  EXPECT_EQ(toml_complaint("a = 07:32:00"),
            std::string{"f:1:5: a: 07:32:00"} + rest);
  EXPECT_EQ(toml_complaint("[t]\na = 1979-05-27"),
            std::string{"f:2:5: t.a: 1979-05-27"} + rest);
  EXPECT_EQ(toml_complaint("a = [1979-05-27T07:32:00Z]"),
            std::string{"f:1:6: a[0]: 1979-05-27T07:32:00Z"} + rest);
}

TEST(toml, numbers_that_are_not_finite_are_refused) {
  constexpr auto rest = " is not a finite number; where a duration may be "
                        "without end, write \"unlimited\"";
  EXPECT_EQ(toml_complaint("a = inf\nb = -inf\nc = nan"),
            std::string{"f:1:5: a: inf"} + rest + "\nf:2:5: b: -inf" + rest
              + "\nf:3:5: c: nan" + rest);
}

TEST(toml, what_is_refused_is_left_out_and_the_rest_is_kept) {
  problems found;
  auto s = parse_toml("a = inf\nb = 1", "f", found);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(s.size(), 1u);
  EXPECT_TRUE(s.contains("b"));
}

// -- files --------------------------------------------------------------------

TEST(toml_file, is_read_with_its_path_in_each_place) {
  test::scratch_dir dir;
  auto path = dir.write("a.toml", "a = 1\n");
  problems found;
  auto s = read_toml_file(path, found);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(s.at("a").place, path.string() + ":1:5");
}

TEST(toml_file, that_cannot_be_read_is_one_problem) {
  test::scratch_dir dir;
  for (auto path : {dir / "none.toml", dir.path()}) {
    problems found;
    EXPECT_TRUE(read_toml_file(path, found).empty());
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].place, path.string());
    EXPECT_TRUE(found[0].message.starts_with("cannot be read: "));
  }
}

// -- all the way --------------------------------------------------------------

struct ratio_config {
  double ratio = 0.5;
  schedule pause;
};

void describe(field_visitor& v, ratio_config& c) {
  v.on({"ratio", ""}, c.ratio, {0.0, 1.0});
  v.on({"pause", ""}, c.pause);
}

TEST(toml, schedules_are_read_in_every_form) {
  const std::pair<std::string, schedule> cases[] = {
    {"pause = '5s'", schedule::constant(5s)},
    {"pause = 'none'", {}},
    {"pause = { kind = 'exponential', base = '1s', factor = 3 }",
     schedule::exponential(1s, 3)},
    {"[[pause]]\nbase = '1s'\ntake = 2\n[[pause]]\nbase = '9s'",
     schedule::constant(1s).take(2).then(schedule::constant(9s))},
  };
  for (const auto& [text, expected] : cases) {
    ratio_config c;
    EXPECT_EQ(to_text(read_settings(parsed(text), "s", c)), "") << text;
    EXPECT_EQ(c.pause, expected) << text;
  }
}

TEST(toml, all_problems_come_with_their_places) {
  ratio_config c;
  auto found = read_settings(parsed("ratio = 2\n"
                                    "[[pause]]\n"
                                    "kind = 'exponential'\n"
                                    "[[pause]]\n"
                                    "base = '2s'\n"
                                    "max = '1s'\n"
                                    "step = '1s'\n"),
                             "s", c);
  EXPECT_EQ(to_text(found),
            "f:1:9: s.ratio: 2 is out of range, allowed: 0 to 1\n"
            "f:2:1: s.pause[0].base: 0s never grows, allowed for exponential: "
            "1ns to unlimited\n"
            "f:7:8: s.pause[1].step: step applies to kind \"linear\" only, "
            "this is \"constant\"\n"
            "f:6:7: s.pause[1].max: 1s is less than base, which is 2s");
}

} // namespace
} // namespace caisson::test
