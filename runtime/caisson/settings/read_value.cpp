#include <caisson/settings/read_value.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace caisson::detail {

namespace {

// -- values -------------------------------------------------------------------

read_result read(const setting& s, std::int64_t& x) {
  if (auto text = std::get_if<setting::raw>(&s.value))
    return read_number(text->text, x);
  if (auto value = std::get_if<std::int64_t>(&s.value)) {
    x = *value;
    return read_result::good;
  }
  return read_result::wrong_type;
}

read_result read(const setting& s, double& x) {
  if (auto text = std::get_if<setting::raw>(&s.value))
    return read_number(text->text, x);
  if (auto value = std::get_if<std::int64_t>(&s.value)) {
    x = static_cast<double>(*value);
    return read_result::good;
  }
  if (auto value = std::get_if<double>(&s.value)) {
    x = *value;
    return read_result::good;
  }
  return read_result::wrong_type;
}

// Reads `a, b`, `[a, b]` or `["a", "b"]`.
std::vector<std::string> split_list(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '[' && text.back() == ']')
    text = trimmed(text.substr(1, text.size() - 2));
  std::vector<std::string> out;
  while (!text.empty()) {
    auto comma = text.find(',');
    auto item = trimmed(text.substr(0, comma));
    if (item.size() > 1 && item.front() == '"' && item.back() == '"')
      item = item.substr(1, item.size() - 2);
    out.emplace_back(item);
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
    if (text.empty())
      out.emplace_back();
  }
  return out;
}

std::string not_a_duration(std::string_view value, const range<duration>& r) {
  return fmt::format("{} is not a duration, allowed: a number with ns, us, ms, "
                     "s, min, h or d, such as \"250ms\", {}",
                     value,
                     r.hi == unlimited ? std::string{"or \"unlimited\""}
                                       : fmt::format("from {}", allowed(r)));
}

// Reports a text that is not a number or out of range; then returns false.
template <class T>
bool check_number(const setting& from, const setting_path& path, T value,
                  read_result result, std::string_view type, range<T> r,
                  problems& out) {
  auto wrong = [&](problem_kind kind, std::string message) {
    out.push_back({kind, path, std::move(message), from.place});
    return false;
  };
  auto text = to_text(from);
  if (result == read_result::wrong_type)
    return wrong(problem_kind::type, fmt::format("{} is not {}, allowed: {}",
                                                 text, type, allowed(r)));
  if (result == read_result::too_large || !within(value, r))
    return wrong(problem_kind::range, out_of_range(text, r));
  return true;
}

// The texts of a list; nothing if any of its items is none.
bool read_texts(const std::vector<setting>& from, const setting_path& path,
                std::vector<std::string>& into, problems& out) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (auto text = std::get_if<std::string>(&from[i].value))
      texts.push_back(*text);
    else
      out.push_back({problem_kind::type, path / i,
                     to_text(from[i]) + " is not a string", from[i].place});
  }
  auto good = texts.size() == from.size();
  if (good)
    into = std::move(texts);
  return good;
}

} // namespace

// The text of a string or of a raw value, without blanks around the latter.
std::optional<std::string_view> text_in(const setting& s) {
  if (auto text = std::get_if<std::string>(&s.value))
    return *text;
  if (auto text = std::get_if<setting::raw>(&s.value))
    return trimmed(text->text);
  return std::nullopt;
}

bool read_value(const setting& from, const setting_path& path, bool& x,
                problems& out) {
  auto raw = std::get_if<setting::raw>(&from.value);
  if (auto value = std::get_if<bool>(&from.value))
    x = *value;
  else if (raw && trimmed(raw->text) == "true")
    x = true;
  else if (raw && trimmed(raw->text) == "false")
    x = false;
  else {
    out.push_back({problem_kind::type, path,
                   to_text(from) + " is not a boolean, allowed: true, false",
                   from.place});
    return false;
  }
  return true;
}

bool read_value(const setting& from, const setting_path& path, std::int64_t& x,
                range<std::int64_t> r, problems& out) {
  std::int64_t value = 0;
  auto result = read(from, value);
  auto good = check_number(from, path, value, result, "an integer", r, out);
  if (good)
    x = value;
  return good;
}

bool read_value(const setting& from, const setting_path& path, double& x,
                range<double> r, problems& out) {
  double value = 0;
  auto result = read(from, value);
  if (result == read_result::good && !std::isfinite(value)) {
    out.push_back(
      {problem_kind::range, path, not_finite(to_text(from), r), from.place});
    return false;
  }
  auto good = check_number(from, path, value, result, "a number", r, out);
  if (good)
    x = value;
  return good;
}

bool read_value(const setting& from, const setting_path& path, duration& x,
                range<duration> r, problems& out) {
  auto text = text_in(from);
  auto value = text ? parse_duration(*text) : std::nullopt;
  auto wrong = [&](problem_kind kind, std::string message) {
    out.push_back({kind, path, std::move(message), from.place});
    return false;
  };
  if (!value)
    return wrong(problem_kind::type, not_a_duration(to_text(from), r));
  if (!within(*value, r))
    return wrong(problem_kind::range, out_of_range(to_text(from), r));
  x = *value;
  return true;
}

bool read_value(const setting& from, const setting_path& path, std::string& x,
                std::string_view expectation, problems& out) {
  auto text = text_in(from);
  if (text)
    x = *text;
  else
    out.push_back({problem_kind::type, path,
                   fmt::format("{} is not a string, allowed: {}", to_text(from),
                               expectation),
                   from.place});
  return text.has_value();
}

bool read_value(const setting& from, const setting_path& path,
                std::vector<std::string>& x, std::string_view expectation,
                problems& out) {
  if (auto list = std::get_if<std::vector<setting>>(&from.value))
    return read_texts(*list, path, x, out);
  auto raw = std::get_if<setting::raw>(&from.value);
  if (raw)
    x = split_list(raw->text);
  else
    out.push_back(
      {problem_kind::type, path,
       fmt::format("{} is not a list, allowed: {}", to_text(from), expectation),
       from.place});
  return raw != nullptr;
}

} // namespace caisson::detail
