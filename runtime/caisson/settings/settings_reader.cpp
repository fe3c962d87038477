#include <caisson/settings/settings_reader.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace caisson {

using namespace detail;

namespace {

// What a text may be, if the field does not say it.
std::string_view allowed_text(const field& f, std::string_view otherwise) {
  return f.allowed.empty() ? otherwise : f.allowed;
}

bool is_empty(const setting& s) {
  auto list = std::get_if<std::vector<setting>>(&s.value);
  auto table = std::get_if<settings>(&s.value);
  return (list && list->empty()) || (table && table->empty());
}

} // namespace

// -- settings_reader ----------------------------------------------------------

settings_reader::settings_reader(section from, problems& out,
                                 absent_fields absent)
  : from_(std::move(from)), out_(out), absent_(absent) {}

const setting* settings_reader::take(std::string_view key) {
  if (std::find(taken_.begin(), taken_.end(), key) == taken_.end())
    taken_.emplace_back(key);
  auto i = from_.table.find(key);
  return i != from_.table.end() ? &i->second : nullptr;
}

const setting* settings_reader::take(const field& f, std::string_view allowed) {
  rules_.add(f, allowed);
  auto s = take(f.key);
  if (s && f.nonempty && is_empty(*s))
    wrong(problem_kind::missing, f, *s,
          fmt::format("is empty, allowed: {}", allowed));
  return s;
}

const setting* settings_reader::take(const field& f) {
  return take(f, f.allowed);
}

bool settings_reader::visits(const field& f, bool) {
  return take(f) != nullptr;
}

void settings_reader::wrong(problem_kind kind, const field& f, const setting& s,
                            std::string message) {
  out_.push_back({kind, from_.path / f.key, std::move(message), s.place});
}

// -- values -------------------------------------------------------------------

void settings_reader::on(const field& f, bool& x) {
  auto s = take(f, "true, false");
  auto good = s ? read_value(*s, from_.path / f.key, x, out_)
                : !f.required || absent_ == absent_fields::are_kept;
  if (good)
    rules_.choices.set(f.key, x ? "true" : "false");
}

void settings_reader::on(const field& f, std::int64_t& x,
                         range<std::int64_t> r) {
  if (auto s = take(f, f.required ? allowed(r) : std::string{}))
    read_value(*s, from_.path / f.key, x, r, out_);
}

void settings_reader::on(const field& f, double& x, range<double> r) {
  if (auto s = take(f, f.required ? allowed(r) : std::string{}))
    read_value(*s, from_.path / f.key, x, r, out_);
}

void settings_reader::on(const field& f, duration& x, range<duration> r) {
  if (auto s = take(f, f.required ? allowed(r) : std::string{}))
    read_value(*s, from_.path / f.key, x, r, out_);
}

void settings_reader::on(const field& f, std::string& x) {
  auto expectation = allowed_text(f, "a text in quotes");
  auto s = take(f, expectation);
  if (!s)
    return;
  if (auto text = text_in(*s); f.nonempty && text && text->empty())
    return wrong(problem_kind::missing, f, *s,
                 fmt::format("is empty, allowed: {}", expectation));
  read_value(*s, from_.path / f.key, x, expectation, out_);
}

void settings_reader::on(const field& f, std::vector<std::string>& x) {
  auto expectation = allowed_text(f, "a list of strings");
  if (auto s = take(f, expectation))
    read_value(*s, from_.path / f.key, x, expectation, out_);
}

void settings_reader::on(const field& f, field_value& x) {
  auto expectation = f.allowed.empty() && (f.required || f.nonempty)
                       ? x.allowed()
                       : std::string{f.allowed};
  if (auto s = take(f, expectation))
    x.read(*s, from_.path / f.key, out_);
}

void settings_reader::on(const field& f, std::size_t& x,
                         std::span<const std::string_view> names) {
  auto s = take(f, f.required ? listed(names) : std::string{});
  auto kept = !f.required || absent_ == absent_fields::are_kept;
  if (!s) {
    if (kept && x < names.size())
      rules_.choices.set(f.key, names[x]);
    return;
  }
  auto text = text_in(*s);
  auto i = text ? std::find(names.begin(), names.end(), *text) : names.end();
  if (i == names.end())
    return wrong(text ? problem_kind::range : problem_kind::type, f, *s,
                 not_one_of(to_text(*s), names));
  x = static_cast<std::size_t>(i - names.begin());
  rules_.choices.set(f.key, *i);
}

// -- tables and lists ---------------------------------------------------------

void settings_reader::tables(const field& f,
                             const std::function<void(const section&)>& read) {
  auto s = take(f);
  if (!s)
    return;
  auto path = from_.path / f.key;
  auto items = list_in(*s, path, tables_at(path), out_);
  for (std::size_t i = 0; items && i < items->size(); ++i)
    if (auto table = table_in((*items)[i], path / i, out_))
      read({*table, path / i, (*items)[i].place});
}

void settings_reader::named_tables(
  const field& f,
  const std::function<void(const std::string&, const section&)>& read) {
  auto s = take(f);
  auto path = from_.path / f.key;
  auto all = s ? table_in(*s, path, out_) : nullptr;
  if (!all)
    return;
  for (const auto& [name, value] : in_file_order(*all))
    if (auto inner = table_in(*value, path / name, out_))
      read(std::string{name}, {*inner, path / name, value->place});
}

// -- what is left -------------------------------------------------------------

std::string settings_reader::unknown_key(std::string_view key,
                                         const setting& value) {
  if (std::holds_alternative<setting::raw>(value.value))
    if (auto excess = key_excess(key); !excess.empty())
      return excess;
  auto dot = key.find('.');
  if (dot != std::string_view::npos && from_.table.contains(key.substr(0, dot)))
    return fmt::format("cannot be given beside a value for {} as a whole",
                       detail::quoted(key.substr(0, dot)));
  // Problems that are only counted need no text.
  if (out_.size() >= most_listed_problems)
    return "unknown key";
  auto suggestion = nearest(key, usable_);
  if (!suggestion.empty() && !from_.table.contains(suggestion))
    misspelled_.emplace_back(suggestion);
  return fmt::format("unknown key{} known keys: {}", hint(suggestion),
                     listed_names(usable_));
}

void settings_reader::finish() {
  for (const auto& key : taken_)
    if (rules_.may_apply(key))
      usable_.push_back(key);
  for (const auto& [key, value] : from_.table)
    if (std::find(taken_.begin(), taken_.end(), key) == taken_.end())
      out_.push_back({problem_kind::unknown, from_.path / key,
                      unknown_key(key, value), value.place});
  rules_.check(from_, misspelled_, absent_ == absent_fields::may_be_missing,
               out_);
}

} // namespace caisson
