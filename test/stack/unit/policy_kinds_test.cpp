// Properties of all policies, each as its kind says.
#include <support/kinds.hpp>
#include <support/source_dir.hpp>
#include <support/stack_texts.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

class every_kind : public testing::TestWithParam<policy_kind> {
protected:
  policy& machine() { return layer_->machine(); }

  std::vector<metric> metrics() {
    std::vector<metric> out;
    machine().list_metrics(out);
    return out;
  }

  std::int64_t counted() {
    std::int64_t sum = 0;
    for (const auto& m : metrics())
      sum += m.gauge ? 0 : m.value;
    return sum;
  }

  random_source random_;
  env host_{time_point{} + std::chrono::hours(1), random_};
  std::unique_ptr<layer> layer_ = std::move(
    only_stack(stack_with(GetParam())).policies.build().at(0));
};

TEST_P(every_kind, is_called_after_itself) {
  EXPECT_EQ(machine().kind(), GetParam().name);
  EXPECT_EQ(layer_->name(), GetParam().name);
}

TEST_P(every_kind, lists_the_state_in_which_it_begins) {
  const auto& all = GetParam().states;
  auto state = machine().state();
  EXPECT_EQ(state.empty(), all.empty()) << state;
  EXPECT_TRUE(state.empty()
              || std::find(all.begin(), all.end(), state) != all.end())
    << state;
}

// The lists of policies in the docs are made of these.
TEST_P(every_kind, has_a_page_and_words_for_those_who_look_for_it) {
  const auto& x = GetParam();
  auto page = source_path("docs")
              / ((x.text.page.empty() ? x.name : x.text.page) + ".md");
  EXPECT_TRUE(std::filesystem::exists(page)) << page;
  EXPECT_FALSE(x.text.also_known_as.empty());
  EXPECT_FALSE(x.text.summary.empty());
  ASSERT_FALSE(x.text.places.empty());
  for (const auto& place : x.text.places) {
    EXPECT_GE(place.depth, 0);
    EXPECT_FALSE(place.why.empty());
    EXPECT_EQ(place.which.empty(), x.text.places.size() == 1);
  }
}

TEST_P(every_kind, gives_each_of_its_numbers_one_name_in_lower_case) {
  std::set<std::string_view> names;
  for (const auto& m : metrics()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    EXPECT_TRUE(
      std::all_of(m.name.begin(), m.name.end(),
                  [](unsigned char c) { return std::islower(c) || c == '_'; }))
      << m.name;
  }
  EXPECT_FALSE(names.contains(""));
  EXPECT_FALSE(names.empty());
}

TEST_P(every_kind, counts_what_it_decides_and_forgets_it_on_reset) {
  call_info call;
  call.id = 1;
  slot notes;
  EXPECT_EQ(counted(), 0);
  machine().admit(call, notes, host_);
  EXPECT_GT(counted(), 0);
  EXPECT_TRUE(machine().command(operator_command::reset, host_));
  EXPECT_EQ(counted(), 0);
}

TEST_P(every_kind, leaves_modes_to_its_host) {
  EXPECT_TRUE(machine().command(operator_command::enable, host_));
  EXPECT_FALSE(machine().command(operator_command::off, host_));
  EXPECT_FALSE(machine().command(operator_command::observe, host_));
}

TEST_P(every_kind, goes_on_under_new_settings_and_keeps_the_old_ones_if_wrong) {
  auto before = texts_of(layer_->config_rows());
  auto [key, good, bad] = some_setting(GetParam());
  auto found = layer_->change(settings_from_text({{key, bad}, {"mode", "off"}}),
                              host_);
  EXPECT_EQ(found.size(), 1u) << to_text(found);
  EXPECT_EQ(texts_of(layer_->config_rows()), before);
  EXPECT_EQ(layer_->active(), mode::enforce);
  found = layer_->change(settings_from_text({{key, good}, {"mode", "off"}}),
                         host_);
  EXPECT_EQ(to_text(found), "");
  EXPECT_THAT(texts_of(layer_->config_rows()),
              testing::Contains(key + " = " + good));
  EXPECT_EQ(layer_->active(), mode::off);
}

INSTANTIATE_TEST_SUITE_P(all, every_kind, testing::ValuesIn(policy_kinds()),
                         [](auto& x) { return x.param.name; });

} // namespace
} // namespace caisson::test
