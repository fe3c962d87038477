#include <caisson/gate/worker_kind.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace caisson {

namespace {

// What a file says of any worker that it describes.
constexpr std::string_view keys_of_files[] = {"kind", "group", "rank",
                                              "supervision"};

bool is_text_row(const std::vector<field_row>& rows, std::string_view key) {
  auto i = std::find_if(rows.begin(), rows.end(),
                        [&](const auto& x) { return x.key == key; });
  return i != rows.end() && i->type == "string";
}

} // namespace

worker_kind::worker_kind(std::string name, source fresh,
                         worker_kind_traits traits, bool is_empty)
  : name_(std::move(name)), fresh_(std::move(fresh)),
    traits_(std::move(traits)) {
  problems found = problems_of(traits_.supervision, "supervision");
  detail::check_name(name_, {}, "name", found);
  if (is_empty)
    found.push_back(
      {problem_kind::missing, "make", "is empty: the worker cannot be made"});
  auto rows = fresh_()->rows();
  for (const auto& row : rows)
    for (auto key : keys_of_files)
      if (row.key == key)
        found.push_back(
          {problem_kind::relation, row.key,
           "a file of gates uses this key for something else: rename it"});
  for (const auto& key : traits_.secrets)
    if (!is_text_row(rows, key))
      found.push_back(
        {problem_kind::unknown, "secrets",
         fmt::format("{} is not a string field", detail::quoted(key))});
  if (!found.empty())
    throw config_error{std::move(found)};
}

} // namespace caisson
