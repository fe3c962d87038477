#include <simulator/scenario/sweep_values.hpp>

#include <simulator/scenario/value_range.hpp>

#include <caisson/base/time.hpp>
#include <caisson/settings/file_order.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/settings/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace caisson::sim {

namespace {

// -- separators ---------------------------------------------------------------

// Follows a text through quotes, brackets and braces.
class nesting {
public:
  // Whether `c` stands outside of all of them.
  bool outside(char c) {
    if (quote_ != 0) {
      if (!std::exchange(escaped_, false)) {
        escaped_ = c == '\\' && quote_ == '"';
        if (c == quote_)
          quote_ = 0;
      }
      return false;
    }
    if (c == '"' || c == '\'')
      quote_ = c;
    else if (c == '[' || c == '{')
      ++depth_;
    else if ((c == ']' || c == '}') && depth_ > 0)
      --depth_;
    return depth_ == 0 && quote_ == 0;
  }

private:
  char quote_ = 0;
  bool escaped_ = false;
  std::size_t depth_ = 0;
};

std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> out;
  nesting inside;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (inside.outside(text[i]) && text[i] == ',') {
      out.push_back(detail::trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  out.push_back(detail::trimmed(text.substr(begin)));
  return out;
}

// Where two dots outside of everything begin; npos if nowhere.
std::size_t dots_in(std::string_view item) {
  nesting inside;
  for (std::size_t i = 0; i + 1 < item.size(); ++i)
    if (inside.outside(item[i]) && item.substr(i, 2) == "..")
      return i;
  return std::string_view::npos;
}

// -- items --------------------------------------------------------------------

class value_reader {
public:
  value_reader(const setting_path& path, std::string_view place,
               range_steps steps, problems& out)
    : path_(path), place_(place), steps_(steps), out_(out) {}

  void item(std::string_view text) {
    if (text.empty())
      return wrong("a value is empty");
    auto dots = dots_in(text);
    if (dots == std::string_view::npos)
      add(single(text));
    else
      range(text, dots);
  }

  [[nodiscard]] bool failed() const { return failed_; }
  std::vector<sweep_value> take() { return std::move(values_); }

private:
  void wrong(std::string message) {
    failed_ = true;
    out_.push_back(
      {problem_kind::syntax, path_, std::move(message), std::string{place_}});
  }

  void add(sweep_value v) {
    v.value.place = place_;
    values_.push_back(std::move(v));
  }

  [[nodiscard]] sweep_value single(std::string_view text) const {
    problems ignored;
    auto read = parse_toml(fmt::format("x = {}", text), place_, ignored);
    auto found = read.find("x");
    if (!ignored.empty() || read.size() != 1 || found == read.end())
      return sweep_value_of({std::string{text}, {}});
    return sweep_value_of(std::move(found->second));
  }

  void range(std::string_view text, std::size_t dots) {
    auto r = read_value_range(text, dots, steps_);
    if (!r.problem.empty())
      return wrong(std::move(r.problem));
    for (auto& v : r.values)
      add(std::move(v));
  }

  const setting_path& path_;
  std::string_view place_;
  range_steps steps_;
  problems& out_;
  std::vector<sweep_value> values_;
  bool failed_ = false;
};

std::string quoted_exactly(std::string_view text) {
  std::string out = "\"";
  for (auto c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

// -- texts --------------------------------------------------------------------

using entries = std::vector<std::pair<std::string_view, const setting*>>;
using entry_order = entries (*)(const settings& table);

entries by_name(const settings& table) {
  entries out;
  out.reserve(table.size());
  for (const auto& [key, value] : table)
    out.emplace_back(key, &value);
  return out;
}

std::string text_of(const settings& table, entry_order order);

std::string text_of(const setting& s, entry_order order) {
  if (auto text = std::get_if<std::string>(&s.value))
    return quoted_exactly(*text);
  if (auto raw = std::get_if<setting::raw>(&s.value))
    return quoted_exactly(raw->text);
  if (auto boolean = std::get_if<bool>(&s.value))
    return *boolean ? "true" : "false";
  if (auto integer = std::get_if<std::int64_t>(&s.value))
    return std::to_string(*integer);
  if (auto number = std::get_if<double>(&s.value))
    return to_text(*number);
  if (auto table = std::get_if<settings>(&s.value))
    return text_of(*table, order);
  std::string out = "[";
  for (const auto& item : std::get<std::vector<setting>>(s.value)) {
    if (out.size() > 1)
      out += ", ";
    out += text_of(item, order);
  }
  return out + "]";
}

std::string text_of(const settings& table, entry_order order) {
  constexpr std::string_view plain
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string out = "{";
  for (const auto& [key, value] : order(table)) {
    if (out.size() > 1)
      out += ", ";
    out += key.empty() || key.find_first_not_of(plain) != key.npos
             ? quoted_exactly(key)
             : std::string{key};
    out += " = " + text_of(*value, order);
  }
  return out + "}";
}

} // namespace

sweep_value sweep_value_of(setting s) {
  sweep_value out;
  if (auto text = std::get_if<std::string>(&s.value)) {
    out.text = *text;
    if (auto d = parse_duration(*text); d && *d != unlimited) {
      out.number = to_seconds(*d);
      out.unit = sweep_unit::seconds;
    }
  } else {
    out.text = written_text(s);
    if (auto integer = std::get_if<std::int64_t>(&s.value))
      out.number = static_cast<double>(*integer);
    else if (auto number = std::get_if<double>(&s.value))
      out.number = *number;
  }
  out.value = std::move(s);
  return out;
}

std::vector<sweep_value>
read_sweep_values(std::string_view text, const setting_path& path,
                  std::string_view place, problems& out, range_steps steps) {
  value_reader reader{path, place, steps, out};
  for (auto item : items_of(text))
    reader.item(item);
  if (reader.failed())
    return {};
  return reader.take();
}

std::string canonical_text(const setting& s) {
  return text_of(s, by_name);
}

std::string canonical_text(const settings& table) {
  return text_of(table, by_name);
}

std::string written_text(const setting& s) {
  return text_of(s, detail::in_file_order);
}

} // namespace caisson::sim
