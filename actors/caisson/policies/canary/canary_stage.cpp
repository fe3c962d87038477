#include <caisson/policies/canary/canary_stage.hpp>

#include <caisson/policies/canary/canary_fields.hpp>
#include <caisson/settings/field_lister.hpp>
#include <caisson/settings/range_checker.hpp>
#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_reader.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/settings/table_list.hpp>

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <variant>

namespace caisson {

namespace {

constexpr range<double> shares{0.000001, 1.0};

using items = std::vector<setting>;

// -- reading ------------------------------------------------------------------

// A list written as text: shares, or a list of shares and tables.
items items_in(const setting& from, const setting_path& path,
               std::string_view allowed, problems& out) {
  auto text = detail::text_in(from);
  if (text
      && (text->starts_with('[')
          || text->find('{') != std::string_view::npos)) {
    if (auto list = detail::table_list_in(*text, from.place))
      return *std::move(list);
    out.push_back({problem_kind::syntax, path,
                   fmt::format("{} is not a list of stages, allowed: {}",
                               detail::quoted(*text), allowed),
                   from.place});
    return {};
  }
  items list;
  std::vector<std::string> texts;
  if (detail::read_value(from, path, texts, allowed, out))
    for (auto& x : texts)
      list.push_back({setting::raw{std::move(x)}, from.place});
  return list;
}

// Paths count stages from 0, states from 1. Those that are too many have none.
void name_stage(std::size_t i, problems& out, std::size_t from) {
  if (i >= canary_stage::most)
    return;
  for (; from < out.size(); ++from)
    out[from].message += fmt::format(" (in {})", name_of_stage(i));
}

void read_stage(const setting& from, const setting_path& path, std::size_t i,
                canary_stage& x, problems& out) {
  auto* table = std::get_if<settings>(&from.value);
  if (!table) {
    detail::read_value(from, path, x.share, shares, out);
    return;
  }
  auto known = out.size();
  settings_reader v{{*table, path, from.place}, out};
  describe(v, x);
  v.finish();
  name_stage(i, out, known);
}

// -- text ---------------------------------------------------------------------

std::string text_of(canary_stage x) {
  if (x.own == canary_limits{})
    return to_text(x.share);
  field_lister v;
  describe(v, x);
  std::string out;
  for (const auto& row : v.rows)
    if (!row.value.empty()) {
      auto quote = row.type == "duration" ? "\"" : "";
      out += fmt::format("{}{} = {}{}{}", out.empty() ? "{ " : ", ", row.key,
                         quote, row.value, quote);
    }
  return out + " }";
}

setting_path path_of_share(const canary_stage& x, const setting_path& path) {
  return x.own == canary_limits{} ? path : path / "share";
}

} // namespace

void describe(field_visitor& v, canary_stage& x) {
  v.on({.key = "share",
        .help = "the share of the calls that the canary gets",
        .allowed = "0.000001 to 1",
        .required = true},
       x.share, shares);
  detail::describe_dwell(v, x.own);
  detail::describe_min_calls(v, x.own);
  detail::describe_limits(v, x.own);
  detail::describe_differences(v, x.own);
}

// -- list ---------------------------------------------------------------------

std::string canary_stage_list::allowed() const {
  return fmt::format("a list of 1 to {} numbers from 0.000001 to 1, each "
                     "greater than the one before, or of tables with such a "
                     "share and limits",
                     canary_stage::most);
}

std::string canary_stage_list::text() const {
  std::string out;
  for (const auto& x : x_)
    out += (out.empty() ? "" : ", ") + text_of(x);
  return "[" + out + "]";
}

void canary_stage_list::read(const setting& from, const setting_path& path,
                             problems& out) {
  auto known = out.size();
  auto* list = std::get_if<items>(&from.value);
  auto all = list ? *list : items_in(from, path, allowed(), out);
  if (out.size() != known)
    return;
  x_.assign(all.size(), canary_stage{shares.hi});
  for (std::size_t i = 0; i < all.size(); ++i)
    read_stage(all[i], path / i, i, x_[i], out);
  // What was not read is not compared with what was.
  if (out.size() != known)
    x_.assign(1, canary_stage{shares.hi});
}

void canary_stage_list::check(const setting_path& path, problems& out) const {
  auto known = out.size();
  for (std::size_t i = 0; i < x_.size(); ++i) {
    auto x = x_[i];
    auto before = out.size();
    // Not a number is not within, either.
    if (!detail::within(x.share, shares))
      out.push_back({problem_kind::range, path_of_share(x, path / i),
                     detail::out_of_range(to_text(x.share), shares)});
    x.share = shares.hi;
    range_checker v{path / i, out};
    describe(v, x);
    name_stage(i, out, before);
  }
  if (out.size() == known)
    relate(path, out);
}

void canary_stage_list::relate(const setting_path& path, problems& out) const {
  if (x_.empty() || x_.size() > canary_stage::most)
    out.push_back({problem_kind::range, path,
                   fmt::format("{} stages are out of range, allowed: 1 to {}",
                               x_.size(), canary_stage::most)});
  for (std::size_t i = 1; i < x_.size(); ++i)
    if (x_[i].share <= x_[i - 1].share) {
      auto known = out.size();
      out.push_back(
        {problem_kind::relation, path_of_share(x_[i], path / i),
         fmt::format("{} is not greater than the share of the stage before, "
                     "allowed: more than {}",
                     to_text(x_[i].share), to_text(x_[i - 1].share))});
      return name_stage(i, out, known);
    }
}

std::string_view name_of_stage(std::size_t number) noexcept {
  // Names of states are static.
  static constexpr std::string_view names[] = {
    "stage_1",  "stage_2",  "stage_3",  "stage_4",  "stage_5",
    "stage_6",  "stage_7",  "stage_8",  "stage_9",  "stage_10",
    "stage_11", "stage_12", "stage_13", "stage_14", "stage_15",
    "stage_16", "stage_17", "stage_18", "stage_19", "stage_20"};
  static_assert(std::size(names) == canary_stage::most);
  return names[number];
}

} // namespace caisson
