#include <caisson/policy/policy_config.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

void check_error_names(const std::vector<std::string>& names,
                       std::string_view key, const setting_path& path,
                       problems& out) {
  // One by one, so that every wrong name is reported and not just the first.
  for (const auto& name : names)
    if (auto wrong = classifier::problem_with({name}); !wrong.empty())
      out.push_back({problem_kind::range, path / key, std::move(wrong)});
}

void check_lists(const classifier& c, std::string_view allow,
                 std::string_view deny, const setting_path& path,
                 problems& out) {
  check_error_names(c.allow, allow, path, out);
  check_error_names(c.deny, deny, path, out);
  for (const auto& name : c.allow)
    if (std::find(c.deny.begin(), c.deny.end(), name) != c.deny.end())
      out.push_back({problem_kind::relation, path / allow,
                     fmt::format("\"{}\" has no effect: {} names it too and "
                                 "wins, allowed: one of the two",
                                 name, deny)});
  auto unused = [&](const auto& names, std::string_view key) {
    if (c.by_value && !names.empty())
      out.push_back({problem_kind::relation, path / key,
                     "has no effect: by_value decides about every outcome, "
                     "allowed: an empty list"});
  };
  unused(c.allow, allow);
  unused(c.deny, deny);
}

} // namespace caisson
