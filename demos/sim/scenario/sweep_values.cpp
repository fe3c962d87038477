#include <sim/scenario/sweep_values.hpp>

#include <caisson/detail/settings_text.hpp>
#include <caisson/time.hpp>
#include <caisson/toml.hpp>

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

// -- decimals -----------------------------------------------------------------

// value / 10^digits, exactly.
struct decimal {
  std::int64_t value = 0;
  int digits = 0;
};

// At most 15 digits, so that nothing that is done with them overflows.
std::optional<decimal> decimal_in(std::string_view text) {
  decimal out;
  auto negative = text.starts_with('-');
  if (negative)
    text.remove_prefix(1);
  std::size_t count = 0;
  auto point = false;
  for (auto c : text) {
    if (c == '.' && !std::exchange(point, true))
      continue;
    if (c < '0' || c > '9' || ++count > 15)
      return std::nullopt;
    out.value = out.value * 10 + (c - '0');
    out.digits += point;
  }
  if (count == 0 || text.ends_with('.') || text.starts_with('.'))
    return std::nullopt;
  if (negative)
    out.value = -out.value;
  return out;
}

std::string decimal_text(std::int64_t value, int digits) {
  auto magnitude = fmt::format("{:0{}}", value < 0 ? -value : value,
                               digits + 1);
  if (digits > 0) {
    magnitude.insert(magnitude.size() - static_cast<std::size_t>(digits), ".");
    magnitude.erase(magnitude.find_last_not_of('0') + 1);
    if (magnitude.ends_with('.'))
      magnitude.pop_back();
  }
  return value < 0 ? "-" + magnitude : magnitude;
}

// -- ranges -------------------------------------------------------------------

struct range_texts {
  std::string_view from;
  std::string_view to;
  // Empty if there is none.
  std::string_view step;
};

range_texts parts_of(std::string_view item, std::size_t dots) {
  auto rest = item.substr(dots + 2);
  auto slash = rest.find('/');
  return {detail::trimmed(item.substr(0, dots)),
          detail::trimmed(rest.substr(0, slash)),
          slash == rest.npos ? std::string_view{}
                             : detail::trimmed(rest.substr(slash + 1))};
}

// From, to and step in some unit.
struct number_range {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t step = 0;
  // Digits behind the point; negative: nanoseconds.
  int digits = 0;
};

std::optional<number_range> decimal_range(const range_texts& r) {
  auto from = decimal_in(r.from);
  auto to = decimal_in(r.to);
  auto step = r.step.empty() ? decimal{1, 0} : decimal_in(r.step);
  if (!from || !to || !step)
    return std::nullopt;
  // Only integers have a step that goes without saying.
  if (r.step.empty() && (from->digits > 0 || to->digits > 0))
    step->value = 0;
  number_range out;
  out.digits = std::max({from->digits, to->digits, step->digits});
  std::int64_t* const into[] = {&out.from, &out.to, &out.step};
  const decimal* const parts[] = {&*from, &*to, &*step};
  for (std::size_t i = 0; i < 3; ++i) {
    auto x = parts[i]->value;
    for (int k = parts[i]->digits; k < out.digits; ++k) {
      constexpr auto most = std::numeric_limits<std::int64_t>::max() / 100;
      if (x > most || x < -most)
        return std::nullopt;
      x *= 10;
    }
    *into[i] = x;
  }
  return out;
}

std::optional<number_range> duration_range(const range_texts& r) {
  auto from = parse_duration(r.from);
  auto to = parse_duration(r.to);
  auto step = r.step.empty() ? duration::zero() : parse_duration(r.step);
  if (!from || !to || !step)
    return std::nullopt;
  for (auto d : {*from, *to, *step})
    if (d > duration::max() / 4)
      return std::nullopt;
  return number_range{from->count(), to->count(), step->count(), -1};
}

// Whether it is a number, but written as 1e3.
bool has_exponent(std::string_view text) {
  double ignored = 0;
  return text.find_first_of("eE") != text.npos
         && detail::read_number(text, ignored) == detail::read_result::good;
}

std::string no_range(std::string_view text, const range_texts& r) {
  for (auto part : {r.from, r.to, r.step})
    if (has_exponent(part))
      return fmt::format("{} has a number with an exponent, {}, allowed in a "
                         "range: numbers without one, as in 1000 or 0.001",
                         detail::quoted(text), part);
  return fmt::format("{} is not a range, allowed: numbers as in 5..20/5, or "
                     "durations as in 10ms..50ms/10ms",
                     detail::quoted(text));
}

sweep_value value_at(const number_range& r, std::int64_t x) {
  setting s;
  if (r.digits < 0) {
    s.value = to_text(duration{x});
  } else if (r.digits == 0) {
    s.value = x;
  } else {
    double number = 0;
    (void)detail::read_number(decimal_text(x, r.digits), number);
    s.value = number;
  }
  return sweep_value_of(std::move(s));
}

// -- items --------------------------------------------------------------------

class value_reader {
public:
  value_reader(const setting_path& path, std::string_view place, problems& out)
    : path_(path), place_(place), out_(out) {}

  void item(std::string_view text) {
    if (text.empty())
      return wrong("a value is empty");
    auto dots = dots_in(text);
    if (dots == std::string_view::npos)
      add(single(text));
    else
      range(text, parts_of(text, dots));
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

  void range(std::string_view text, const range_texts& parts) {
    auto r = decimal_range(parts);
    if (!r)
      r = duration_range(parts);
    if (!r)
      return wrong(no_range(text, parts));
    if (r->step <= 0)
      return wrong(fmt::format("{} has no step above 0, allowed: {}..{}/STEP",
                               detail::quoted(text), parts.from, parts.to));
    if (r->from > r->to)
      return wrong(
        fmt::format("{} ends before it begins", detail::quoted(text)));
    auto count = static_cast<std::uint64_t>((r->to - r->from) / r->step) + 1;
    if (count > most_sweep_values)
      return wrong(fmt::format("{} has {} values, allowed: at most {}",
                               detail::quoted(text), count, most_sweep_values));
    for (std::uint64_t i = 0; i < count; ++i)
      add(value_at(*r, r->from + static_cast<std::int64_t>(i) * r->step));
  }

  const setting_path& path_;
  std::string_view place_;
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
    out.text = canonical_text(s);
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
                  std::string_view place, problems& out) {
  value_reader reader{path, place, out};
  for (auto item : items_of(text))
    reader.item(item);
  if (reader.failed())
    return {};
  return reader.take();
}

std::string canonical_text(const setting& s) {
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
    return canonical_text(*table);
  std::string out = "[";
  for (const auto& item : std::get<std::vector<setting>>(s.value)) {
    if (out.size() > 1)
      out += ", ";
    out += canonical_text(item);
  }
  return out + "]";
}

std::string canonical_text(const settings& table) {
  constexpr std::string_view plain
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string out = "{";
  for (const auto& [key, value] : table) {
    if (out.size() > 1)
      out += ", ";
    out += key.empty() || key.find_first_not_of(plain) != key.npos
             ? quoted_exactly(key)
             : key;
    out += " = " + canonical_text(value);
  }
  return out + "}";
}

} // namespace caisson::sim
