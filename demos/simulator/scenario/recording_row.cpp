#include <simulator/scenario/recording_row.hpp>

#include <caisson/settings/settings_text.hpp>

#include <chrono>

namespace caisson::sim {

namespace {

// Takes `digits` digits from the front.
std::optional<std::int64_t> take_digits(std::string_view& text,
                                        std::size_t digits) {
  if (text.size() < digits)
    return std::nullopt;
  std::int64_t x = 0;
  for (char c : text.substr(0, digits)) {
    if (c < '0' || c > '9')
      return std::nullopt;
    x = x * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return x;
}

bool take_char(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

std::size_t leading_digits(std::string_view text) {
  auto end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

// Takes `.123`; the nanoseconds, none if there is no point. Digits after the
// ninth are less than one.
std::optional<std::int64_t> take_fraction(std::string_view& text,
                                          std::size_t most_digits) {
  if (!take_char(text, "."))
    return 0;
  auto digits = leading_digits(text);
  if (digits == 0 || digits > most_digits)
    return std::nullopt;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < 9; ++i)
    ns = ns * 10 + (i < digits ? text[i] - '0' : 0);
  text.remove_prefix(digits);
  return ns;
}

std::optional<duration> plain_seconds(std::string_view text) {
  auto digits = leading_digits(text);
  // 292 years have ten digits; more than a century is not needed.
  if (digits == 0 || digits > 10)
    return std::nullopt;
  auto whole = take_digits(text, digits);
  auto ns = take_fraction(text, 100);
  if (!whole || *whole >= 9'000'000'000 || !ns || !text.empty())
    return std::nullopt;
  return std::chrono::seconds(*whole) + duration{*ns};
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  auto y = take_digits(text, 4);
  if (!y || !take_char(text, "-"))
    return std::nullopt;
  auto m = take_digits(text, 2);
  if (!m || !take_char(text, "-"))
    return std::nullopt;
  auto d = take_digits(text, 2);
  if (!d)
    return std::nullopt;
  std::chrono::year_month_day date{
    std::chrono::year{static_cast<int>(*y)},
    std::chrono::month{static_cast<unsigned>(*m)},
    std::chrono::day{static_cast<unsigned>(*d)}};
  // Nanoseconds end in 2262.
  if (!date.ok() || *y < 1970 || *y > 2250)
    return std::nullopt;
  return std::chrono::sys_days{date};
}

std::optional<duration> take_time(std::string_view& text) {
  auto h = take_digits(text, 2);
  if (!h || *h > 23 || !take_char(text, ":"))
    return std::nullopt;
  auto m = take_digits(text, 2);
  if (!m || *m > 59 || !take_char(text, ":"))
    return std::nullopt;
  auto s = take_digits(text, 2);
  if (!s || *s > 59)
    return std::nullopt;
  auto ns = take_fraction(text, 9);
  if (!ns)
    return std::nullopt;
  return std::chrono::hours(*h) + std::chrono::minutes(*m)
         + std::chrono::seconds(*s) + duration{*ns};
}

} // namespace

std::optional<duration> parse_timestamp(std::string_view text) {
  text = detail::trimmed(text);
  if (auto plain = plain_seconds(text))
    return plain;
  auto date = take_date(text);
  if (!date || !take_char(text, " T"))
    return std::nullopt;
  auto time = take_time(text);
  take_char(text, "Z");
  if (!time || !text.empty())
    return std::nullopt;
  return duration{date->time_since_epoch()} + *time;
}

std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto c = line[i];
    if (quoted && c == '"' && line.substr(i + 1, 1) == "\"")
      out.back() += line[++i];
    else if (c == '"' && (quoted || detail::trimmed(out.back()).empty()))
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  for (auto& field : out)
    field = detail::trimmed(field);
  return out;
}

} // namespace caisson::sim
