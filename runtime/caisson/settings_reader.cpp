#include <caisson/schedule.hpp>
#include <caisson/settings.hpp>
#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace caisson {

using namespace detail;

namespace {

// -- values -------------------------------------------------------------------

reading read(const setting& s, std::int64_t& x) {
  if (auto text = std::get_if<setting::raw>(&s.value))
    return read_number(text->text, x);
  if (auto value = std::get_if<std::int64_t>(&s.value)) {
    x = *value;
    return reading::good;
  }
  return reading::wrong_type;
}

reading read(const setting& s, double& x) {
  if (auto text = std::get_if<setting::raw>(&s.value))
    return read_number(text->text, x);
  if (auto value = std::get_if<std::int64_t>(&s.value)) {
    x = static_cast<double>(*value);
    return reading::good;
  }
  if (auto value = std::get_if<double>(&s.value)) {
    x = *value;
    return reading::good;
  }
  return reading::wrong_type;
}

// The text of a string or of a raw value, without blanks around the latter.
std::optional<std::string_view> text_of(const setting& s) {
  if (auto text = std::get_if<std::string>(&s.value))
    return *text;
  if (auto text = std::get_if<setting::raw>(&s.value))
    return trimmed(text->text);
  return std::nullopt;
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

// -- places ---------------------------------------------------------

// The place of the value that `key` names, or of the innermost table around it.
std::string_view place_of(const settings& from, std::string_view key) {
  std::string_view place;
  auto table = &from;
  while (table) {
    auto part = key.substr(0, key.find_first_of(".["));
    auto found = table->find(part);
    if (found == table->end())
      break;
    key.remove_prefix(part.size());
    const auto* value = &found->second;
    if (auto list = std::get_if<std::vector<setting>>(&value->value);
        list && key.starts_with('[')) {
      std::size_t n = 0;
      std::from_chars(key.data() + 1, key.data() + key.size(), n);
      if (n < list->size())
        value = &(*list)[n];
      key.remove_prefix(std::min(key.size(), key.find(']') + 1));
    }
    place = value->place;
    if (!key.empty())
      key.remove_prefix(1);
    table = std::get_if<settings>(&value->value);
  }
  return place;
}

} // namespace

void add_problems(problems more, const settings& from, std::string_view path,
                  std::string_view place, problems& out) {
  if (more.empty())
    return;
  // Room for all, so that the keys stay where they are.
  out.reserve(out.size() + more.size());
  std::set<std::string_view> known;
  for (const auto& p : out)
    known.insert(p.key);
  for (auto& p : more) {
    if (known.contains(p.key))
      continue;
    if (p.place.empty()) {
      std::string_view key = p.key;
      if (!path.empty() && key.starts_with(path))
        key.remove_prefix(std::min(key.size(), path.size() + 1));
      p.place = place_of(from, key);
    }
    if (p.place.empty())
      p.place = place;
    out.push_back(std::move(p));
  }
}

// -- settings_reader ----------------------------------------------------------

settings_reader::settings_reader(const settings& from, std::string path,
                                 problems& out)
  : from_(from), path_(std::move(path)), out_(out) {}

const setting* settings_reader::take(std::string_view key) {
  if (std::find(taken_.begin(), taken_.end(), key) == taken_.end())
    taken_.emplace_back(key);
  auto i = from_.find(key);
  return i != from_.end() ? &i->second : nullptr;
}

void settings_reader::wrong(const field& f, const setting& s,
                            std::string_view what) {
  out_.push_back({s.place, joined(path_, f.key), std::string{what}});
}

void settings_reader::on(const field& f, bool& x) {
  auto s = take(f.key);
  if (!s)
    return;
  auto raw = std::get_if<setting::raw>(&s->value);
  if (auto value = std::get_if<bool>(&s->value))
    x = *value;
  else if (raw && trimmed(raw->text) == "true")
    x = true;
  else if (raw && trimmed(raw->text) == "false")
    x = false;
  else
    wrong(f, *s, to_text(*s) + " is not a boolean, allowed: true, false");
}

void settings_reader::on(const field& f, std::int64_t& x,
                         range<std::int64_t> r) {
  auto s = take(f.key);
  if (!s)
    return;
  std::int64_t value = 0;
  auto result = read(*s, value);
  if (result == reading::wrong_type)
    wrong(f, *s,
          fmt::format("{} is not an integer, allowed: {}", to_text(*s),
                      allowed(r)));
  else if (result == reading::too_large || !within(value, r))
    wrong(f, *s, out_of_range(to_text(*s), r));
  else
    x = value;
}

void settings_reader::on(const field& f, double& x, range<double> r) {
  auto s = take(f.key);
  if (!s)
    return;
  double value = 0;
  auto result = read(*s, value);
  if (result == reading::wrong_type)
    wrong(
      f, *s,
      fmt::format("{} is not a number, allowed: {}", to_text(*s), allowed(r)));
  else if (result == reading::good && !std::isfinite(value))
    wrong(f, *s, not_finite(to_text(*s), r));
  else if (result == reading::too_large || !within(value, r))
    wrong(f, *s, out_of_range(to_text(*s), r));
  else
    x = value;
}

void settings_reader::on(const field& f, duration& x, range<duration> r) {
  auto s = take(f.key);
  if (!s)
    return;
  auto text = text_of(*s);
  auto value = text ? parse_duration(*text) : std::nullopt;
  if (!value)
    wrong(f, *s, not_a_duration(to_text(*s), r));
  else if (!within(*value, r))
    wrong(f, *s, out_of_range(to_text(*s), r));
  else
    x = *value;
}

void settings_reader::on(const field& f, std::string& x) {
  auto s = take(f.key);
  if (!s)
    return;
  if (auto text = text_of(*s))
    x = *text;
  else
    wrong(f, *s, to_text(*s) + " is not a string, allowed: a text in quotes");
}

void settings_reader::on(const field& f, std::vector<std::string>& x) {
  auto s = take(f.key);
  if (!s)
    return;
  auto list = std::get_if<std::vector<setting>>(&s->value);
  if (auto raw = std::get_if<setting::raw>(&s->value))
    x = split_list(raw->text);
  else if (list)
    read_strings(f, *list, x);
  else
    wrong(f, *s, to_text(*s) + " is not a list, allowed: a list of strings");
}

void settings_reader::read_strings(const field& f,
                                   const std::vector<setting>& from,
                                   std::vector<std::string>& into) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (auto text = std::get_if<std::string>(&from[i].value))
      texts.push_back(*text);
    else
      out_.push_back({from[i].place,
                      fmt::format("{}[{}]", joined(path_, f.key), i),
                      to_text(from[i]) + " is not a string"});
  }
  if (texts.size() == from.size())
    into = std::move(texts);
}

void settings_reader::on(const field& f, schedule& x) {
  if (auto s = take(f.key))
    read_schedule(*s, joined(path_, f.key), x, out_);
}

void settings_reader::on(const field& f, field_value& x) {
  if (auto s = take(f.key))
    x.read(*s, joined(path_, f.key), out_);
}

void settings_reader::on(const field& f, std::size_t& x,
                         std::span<const std::string_view> names) {
  auto s = take(f.key);
  if (!s)
    return;
  auto text = text_of(*s);
  auto i = text ? std::find(names.begin(), names.end(), *text) : names.end();
  if (i == names.end())
    wrong(f, *s, not_one_of(to_text(*s), names));
  else
    x = static_cast<std::size_t>(i - names.begin());
}

std::string settings_reader::unknown_key(std::string_view key,
                                         const setting& value) const {
  if (std::holds_alternative<setting::raw>(value.value))
    if (auto excess = key_excess(key); !excess.empty())
      return excess;
  auto dot = key.find('.');
  if (dot != std::string_view::npos && from_.contains(key.substr(0, dot)))
    return fmt::format("cannot be given beside a value for {} as a whole",
                       quoted(key.substr(0, dot)));
  // Of what is only counted nobody reads the rest.
  if (out_.size() >= most_listed_problems)
    return "unknown key";
  return fmt::format("unknown key{} known keys: {}", hint(key, taken_),
                     listed_names(taken_));
}

void settings_reader::finish() {
  for (const auto& [key, value] : from_)
    if (std::find(taken_.begin(), taken_.end(), key) == taken_.end())
      out_.push_back(
        {value.place, joined(path_, key), unknown_key(key, value)});
}

} // namespace caisson
