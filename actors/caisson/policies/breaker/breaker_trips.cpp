#include <caisson/policies/breaker/breaker_trips.hpp>

#include <caisson/policies/breaker/breaker_trips_field.hpp>
#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <algorithm>
#include <vector>

namespace caisson {

namespace {

using value_for = field_value_for<breaker_trips>;

constexpr std::span<const std::string_view>
  names = enum_names<breaker_trip>::value;

std::vector<std::string> names_in(const breaker_trips& x) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (x.has(static_cast<breaker_trip>(i)))
      out.emplace_back(names[i]);
  return out;
}

} // namespace

std::string value_for::allowed() const {
  return detail::listed(names) + ", or a list of these";
}

std::string value_for::text() const {
  auto all = names_in(x_);
  return all.size() == 1 ? all[0] : detail::listed(all);
}

void value_for::read(const setting& from, const setting_path& path,
                     problems& out) {
  std::vector<std::string> texts;
  if (auto one = std::get_if<std::string>(&from.value))
    texts.push_back(*one);
  else if (!detail::read_value(from, path, texts, allowed(), out))
    return;
  breaker_trips found;
  auto bad = out.size();
  for (const auto& text : texts) {
    auto i = std::find(names.begin(), names.end(), text);
    if (i == names.end())
      out.push_back({problem_kind::range, path,
                     detail::not_one_of(detail::quoted(text), names),
                     from.place});
    else
      found.add(static_cast<breaker_trip>(i - names.begin()));
  }
  if (out.size() == bad)
    x_ = found;
}

void value_for::check(const setting_path& path, problems& out) const {
  if (!x_.valid())
    out.push_back(
      {problem_kind::range, path, detail::not_one_of("a rule", names)});
}

} // namespace caisson
