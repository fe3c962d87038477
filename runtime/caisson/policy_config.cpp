#include <caisson/policy_config.hpp>

namespace caisson {

void check_error_names(const std::vector<std::string>& names,
                       std::string_view key, const std::string& path,
                       problems& out) {
  // One by one, so that every wrong name is reported and not just the first.
  for (const auto& name : names)
    if (auto wrong = classifier::problem_with({name}); !wrong.empty())
      out.push_back({{}, joined(path, key), std::move(wrong)});
}

} // namespace caisson
