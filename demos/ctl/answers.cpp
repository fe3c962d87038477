#include <ctl/answers.hpp>

#include <ctl/connection.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

const json* found_in(const json& x, const char* key,
                     bool (json::*has_type)() const noexcept) {
  auto i = x.find(key);
  if (i == x.end())
    return nullptr;
  require_type(((*i).*has_type)(), key);
  return &*i;
}

} // namespace

void require_type(bool right, const char* key) {
  if (!right)
    throw ctl_error{fmt::format("the program's answer is not that of a program "
                                "of this version: {} has another type",
                                detail::quoted(key))};
}

std::string text_in(const json& x, const char* key) {
  const auto* i = found_in(x, key, &json::is_string);
  return i ? i->get<std::string>() : std::string{};
}

std::int64_t number_in(const json& x, const char* key) {
  using limits = std::numeric_limits<std::int64_t>;
  const auto* i = found_in(x, key, &json::is_number);
  if (!i)
    return 0;
  if (i->is_number_unsigned())
    return static_cast<std::int64_t>(std::min(
      i->get<std::uint64_t>(), static_cast<std::uint64_t>(limits::max())));
  if (i->is_number_integer())
    return i->get<std::int64_t>();
  // Of a number that does not fit, the conversion is not defined.
  auto number = i->get<double>();
  if (number >= 0x1p63)
    return limits::max();
  return number <= -0x1p63 ? limits::min() : static_cast<std::int64_t>(number);
}

const json& object_in(const json& x, const char* key) {
  static const json empty = json::object();
  const auto* i = found_in(x, key, &json::is_object);
  return i ? *i : empty;
}

const json& list_in(const json& x, const char* key) {
  static const json empty = json::array();
  const auto* i = found_in(x, key, &json::is_array);
  if (i)
    require_type(std::ranges::all_of(*i, &json::is_object), key);
  return i ? *i : empty;
}

const json& needed_list(const json& x, const char* key) {
  require_type(x.contains(key), key);
  return list_in(x, key);
}

bool is_usual(const json& layer) {
  auto state = text_in(layer, "state");
  return text_in(layer, "mode") == "enforce"
         && (state.empty() || state == "closed" || state == "normal");
}

} // namespace caisson::ctl
