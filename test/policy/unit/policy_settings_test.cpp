// Settings of policies, gates and the supervision of workers: each field
// by itself, as its row in the tables of the docs says.
#include <support/kinds.hpp>
#include <support/problem_texts.hpp>
#include <support/stack_texts.hpp>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- tables of settings -------------------------------------------------------

// One that a stack `s` has in TOML.
struct settings_of {
  std::string what;
  // Where it begins, and the path of its keys.
  std::string toml;
  setting_path path;
  // The settings with their defaults.
  std::vector<field_row> rows;
  // Those in a stack that was read.
  std::function<std::vector<field_row>(const stack_entry&)> in;
  // What its name is, if it has one and none is given.
  std::string name = {};
};

void PrintTo(const settings_of& x, std::ostream* out) {
  *out << x.what;
}

settings_of settings_of_kind(const policy_kind& x) {
  return {.what = x.name,
          .toml = stack_with(x),
          .path = setting_path{"stack"} / "s" / "layer" / 0,
          .rows = x.rows(),
          .in =
            [](const stack_entry& s) {
              return s.policies.build().at(0)->config_rows();
            },
          .name = x.name};
}

std::vector<settings_of> all_settings() {
  std::vector<settings_of> all{
    {.what = "gate",
     .toml = "[stack.s]\n",
     .path = setting_path{"stack"} / "s",
     .rows = rows_of(gate_config{}),
     .in = [](const stack_entry& s) { return rows_of(s.policies.config()); },
     .name = "s"},
    {.what = "supervision",
     .toml = "[stack.s.worker]\n",
     .path = setting_path{"stack"} / "s" / "worker",
     .rows = rows_of(supervision_config{}),
     .in = [](const stack_entry& s) { return rows_of(s.supervision); }}};
  for (const auto& x : policy_kinds())
    all.push_back(settings_of_kind(x));
  return all;
}

// -- what a field may be ------------------------------------------------------

// The two ends of what is allowed, if these are numbers or durations. One that
// is the end of the type itself cannot be passed.
struct bounds_of_field {
  std::string lo;
  std::string hi;
  // Just outside; empty if nothing is.
  std::string below;
  std::string above;
  bool default_is_within = false;
};

// A value without its quotes.
std::string bare(std::string_view value) {
  return std::string{value.starts_with('\'') ? value.substr(1, value.size() - 2)
                                             : value};
}

bool is_of(const field_row& row, std::string_view type) {
  return row.type.starts_with(type);
}

std::optional<bounds_of_field> bounds_of(const field_row& row) {
  std::string lo, hi;
  if (auto i = row.allowed.find(" to "); i != std::string::npos) {
    lo = row.allowed.substr(0, i);
    hi = row.allowed.substr(i + 4);
  } else if (row.allowed.starts_with("at least ")) {
    lo = row.allowed.substr(9);
    hi = std::to_string(std::numeric_limits<std::int64_t>::max());
  }
  if (is_of(row, "duration")) {
    auto from = parse_duration(lo).value();
    auto to = parse_duration(hi).value();
    auto at_first = parse_duration(row.value).value();
    return bounds_of_field{"'" + lo + "'", "'" + hi + "'",
                           "'" + to_text(from - 1ns) + "'",
                           to == unlimited ? "" : "'" + to_text(to + 1ns) + "'",
                           from <= at_first && at_first <= to};
  }
  if (is_of(row, "integer")) {
    auto from = std::stoll(lo);
    auto to = std::stoll(hi);
    auto at_first = std::stoll(row.value);
    return bounds_of_field{lo, hi, std::to_string(from - 1),
                           to == std::numeric_limits<std::int64_t>::max()
                             ? ""
                             : std::to_string(to + 1),
                           from <= at_first && at_first <= to};
  }
  if (is_of(row, "number")) {
    auto from = std::stod(lo);
    auto to = std::stod(hi);
    auto at_first = std::stod(row.value);
    return bounds_of_field{lo, hi, fmt::format("{}", from - 1e-6),
                           fmt::format("{}", to + 1e-6),
                           from <= at_first && at_first <= to};
  }
  return std::nullopt;
}

strings ends_of(const field_row& row) {
  auto b = bounds_of(row);
  return b ? strings{b->lo, b->hi} : strings{};
}

strings beyond(const field_row& row) {
  auto b = bounds_of(row);
  if (!b)
    return {};
  return b->above.empty() ? strings{b->below} : strings{b->below, b->above};
}

class policy_settings : public testing::TestWithParam<settings_of> {
protected:
  static strings wrong(const std::string& text) {
    problems found;
    auto file = read_stacks(parsed(text), found);
    EXPECT_TRUE(found.empty() || file.stacks.empty());
    return kinds_and_keys(found);
  }

  // What is wrong if the field has this value.
  static strings wrong_with(std::string_view key, std::string_view value) {
    return wrong(GetParam().toml + fmt::format("{} = {}\n", key, value));
  }

  static std::string expected_problem(std::string_view kind,
                                      std::string_view key) {
    return fmt::format("{} {}", kind, to_text(GetParam().path / key));
  }

  static bool has(const strings& all, const std::string& x) {
    return std::find(all.begin(), all.end(), x) != all.end();
  }

  static strings read(const std::string& text) {
    return texts_of(GetParam().in(only_stack(text)));
  }

  // The defaults, beside a name.
  static std::vector<field_row> rows_named(const std::string& name) {
    auto rows = GetParam().rows;
    for (auto& row : rows)
      if (row.key == "name")
        row.value = "\"" + name + "\"";
    return rows;
  }
};

// -- the defaults -------------------------------------------------------------

TEST_P(policy_settings, have_defaults_without_problems) {
  EXPECT_EQ(read(GetParam().toml), texts_of(rows_named(GetParam().name)));
}

// What `config_rows` prints can be written back, schedules and tables aside.
TEST_P(policy_settings, are_read_as_they_are_printed) {
  auto rows = rows_named("mine");
  auto text = GetParam().toml;
  for (auto& row : rows) {
    // Those of another choice would be refused.
    if (row.applies)
      text += toml_line(row);
    if (row.type == "schedule")
      row.value = to_text(schedule::constant(7s));
  }
  EXPECT_EQ(read(text), texts_of(rows));
}

// -- single fields ------------------------------------------------------------

TEST_P(policy_settings, have_defaults_within_their_ranges) {
  for (const auto& row : GetParam().rows) {
    auto b = bounds_of(row);
    EXPECT_TRUE(!b || b->default_is_within) << row.key << " = " << row.value;
  }
}

TEST_P(policy_settings, take_both_ends_of_a_range) {
  for (const auto& row : GetParam().rows)
    for (const auto& end : ends_of(row)) {
      auto line = row.key + " = " + end + "\n";
      auto found = wrong(GetParam().toml + line);
      // Another field may contradict it.
      if (!found.empty()) {
        EXPECT_EQ(found[0].substr(0, 9), "relation ") << line;
        continue;
      }
      EXPECT_TRUE(
        has(read(GetParam().toml + line), row.key + " = " + bare(end)))
        << line;
    }
}

TEST_P(policy_settings, refuse_what_is_just_out_of_range) {
  for (const auto& row : GetParam().rows)
    for (const auto& x : beyond(row)) {
      // A text with a sign is no duration.
      auto kind = x == "'-1ns'" ? "type" : "range";
      EXPECT_TRUE(has(wrong_with(row.key, x), expected_problem(kind, row.key)))
        << row.key << " = " << x;
    }
}

TEST_P(policy_settings, refuse_a_choice_that_there_is_not) {
  for (const auto& row : GetParam().rows) {
    if (!is_of(row, "choice"))
      continue;
    EXPECT_EQ(wrong_with(row.key, "'nothing'"),
              strings{expected_problem("range", row.key)});
  }
}

TEST_P(policy_settings, refuse_values_of_another_type) {
  for (const auto& row : GetParam().rows) {
    auto value = row.type == "boolean" ? "5" : "true";
    EXPECT_TRUE(
      has(wrong_with(row.key, value), expected_problem("type", row.key)))
      << row.key;
  }
}

TEST_P(policy_settings, refuse_a_key_that_no_field_has) {
  EXPECT_EQ(wrong_with("no_such_key", "1"),
            strings{expected_problem("unknown", "no_such_key")});
}

INSTANTIATE_TEST_SUITE_P(all, policy_settings,
                         testing::ValuesIn(all_settings()),
                         [](auto& x) { return x.param.what; });

// -- what must be given -------------------------------------------------------

class required_settings : public testing::TestWithParam<policy_kind> {};

TEST_P(required_settings, are_those_of_the_example) {
  strings expected;
  problems found;
  auto example = parse_toml(GetParam().example, "f", found);
  for (const auto& [key, value] : example)
    expected.push_back("missing stack.s.layer[0]." + key);
  (void)read_stacks(
    parsed("[[stack.s.layer]]\nkind = '" + GetParam().name + "'\n"), found);
  EXPECT_EQ(kinds_and_keys(found), expected);
}

INSTANTIATE_TEST_SUITE_P(all, required_settings,
                         testing::ValuesIn(policy_kinds()),
                         [](auto& x) { return x.param.name; });

} // namespace
} // namespace caisson::test
