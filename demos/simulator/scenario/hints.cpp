#include <simulator/scenario/hints.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace caisson::sim {

namespace {

struct hint {
  std::string_view text_begins;
  std::string_view text;
};

// Kinds of errors in results that a policy knows under another name.
constexpr hint error_hints[] = {
  {"\"failed\" names no error",
   "; a service's own error is \"system_error:*\" here"},
  {"\"timeout\" names no error",
   "; a call that took too long is \"deadline_exceeded\" here"},
};

std::string_view last_name(const setting_path& key) {
  if (key.parts().empty())
    return {};
  auto name = std::get_if<std::string>(&key.parts().back());
  return name ? std::string_view{*name} : std::string_view{};
}

bool is_of_load(const setting_path& key) {
  return std::ranges::any_of(key.parts(), [](const auto& part) {
    auto name = std::get_if<std::string>(&part);
    return name && *name == "load";
  });
}

std::string_view hint_for(const problem& p) {
  if (p.kind == problem_kind::unknown && last_name(p.key) == "retries")
    return is_of_load(p.key)
             ? "; attempts is what you may mean, with the first one counted"
             : "; max_attempts is what you may mean, with the first one "
               "counted";
  for (const auto& h : error_hints)
    if (p.message.starts_with(h.text_begins))
      return h.text;
  return {};
}

} // namespace

void add_hints(problems& found) {
  for (auto& p : found)
    p.message += hint_for(p);
}

} // namespace caisson::sim
