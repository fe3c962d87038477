#include <caisson/policy/pushback.hpp>

#include <algorithm>
#include <cstdint>

namespace caisson {

namespace {

using namespace std::chrono;

constexpr std::string_view days[] = {
  "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr",
                                       "May", "Jun", "Jul", "Aug",
                                       "Sep", "Oct", "Nov", "Dec"};

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// Takes a text apart from its front; once something is missing, all is.
class reader {
public:
  explicit reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const noexcept { return good_ && rest_.empty(); }
  [[nodiscard]] bool good() const noexcept { return good_; }

  reader& text(std::string_view what) {
    if (good_ && rest_.starts_with(what))
      rest_.remove_prefix(what.size());
    else
      good_ = false;
    return *this;
  }

  // Exactly `n` digits; a space in place of the first if that is allowed.
  reader& number(std::size_t n, unsigned& x, bool padded = false) {
    x = 0;
    for (std::size_t i = 0; i < n; ++i) {
      auto c = i < rest_.size() ? rest_[i] : '\0';
      auto blank = padded && i == 0 && c == ' ';
      good_ = good_ && (is_digit(c) || blank);
      if (!good_)
        return *this;
      if (!blank)
        x = x * 10 + static_cast<unsigned>(c - '0');
    }
    rest_.remove_prefix(n);
    return *this;
  }

  // A month's name, or a day's; cut to `length` if that is not 0.
  template <std::size_t N>
  reader& name(const std::string_view (&names)[N], unsigned& x,
               std::size_t length = 0) {
    for (std::size_t i = 0; good_ && i < N; ++i) {
      auto word = length == 0 ? names[i] : names[i].substr(0, length);
      if (rest_.starts_with(word)) {
        x = static_cast<unsigned>(i);
        return text(word);
      }
    }
    good_ = false;
    return *this;
  }

private:
  std::string_view rest_;
  bool good_ = true;
};

struct date {
  unsigned weekday = 0, day = 0, month = 0, year = 0;
  unsigned hour = 0, minute = 0, second = 0;
};

reader& read_time(reader& in, date& x) {
  return in.number(2, x.hour)
    .text(":")
    .number(2, x.minute)
    .text(":")
    .number(2, x.second);
}

bool read_imf(std::string_view text, date& x) {
  reader in{text};
  in.name(days, x.weekday, 3).text(", ").number(2, x.day).text(" ");
  in.name(months, x.month).text(" ").number(4, x.year).text(" ");
  return read_time(in, x).text(" GMT").done();
}

bool read_rfc850(std::string_view text, date& x) {
  reader in{text};
  in.name(days, x.weekday).text(", ").number(2, x.day).text("-");
  in.name(months, x.month).text("-").number(2, x.year).text(" ");
  return read_time(in, x).text(" GMT").done();
}

bool read_asctime(std::string_view text, date& x) {
  reader in{text};
  in.name(days, x.weekday, 3).text(" ").name(months, x.month).text(" ");
  in.number(2, x.day, true).text(" ");
  return read_time(in, x).text(" ").number(4, x.year).done();
}

std::optional<wall_time> instant_of(const date& x) {
  year_month_day calendar{year{static_cast<int>(x.year)}, month{x.month + 1},
                          std::chrono::day{x.day}};
  // 60 is a leap second.
  if (!calendar.ok() || x.hour > 23 || x.minute > 59 || x.second > 60)
    return std::nullopt;
  return sys_days{calendar} + hours{x.hour} + minutes{x.minute}
         + std::chrono::seconds{x.second};
}

std::optional<wall_time> short_year(date x, wall_time now) {
  auto today = year_month_day{floor<std::chrono::days>(now)};
  auto century = static_cast<int>(today.year()) / 100 * 100;
  std::optional<wall_time> best;
  auto latest = sys_days{(today.year() + years{50}) / today.month()
                         / std::min(today.day(), std::chrono::day{28})};
  for (auto start : {century - 100, century, century + 100}) {
    auto candidate = x;
    if (start < 0)
      continue;
    candidate.year += static_cast<unsigned>(start);
    // The 29th of February is not in every century.
    auto at = instant_of(candidate);
    if (at && *at <= latest)
      best = at;
  }
  return best;
}

// A number of units; nothing if it is none, or too long a wait.
std::optional<duration> read_units(std::string_view text, duration unit) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit))
    return std::nullopt;
  duration total{0};
  for (auto c : text) {
    total = total * 10 + unit * (c - '0');
    if (total > longest_pushback)
      return std::nullopt;
  }
  return total;
}

std::string_view without_blanks(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && blank(text.back()))
    text.remove_suffix(1);
  return text;
}

} // namespace

wall_time wall_now() {
  return floor<std::chrono::seconds>(system_clock::now());
}

std::optional<wall_time> parse_http_date(std::string_view text, wall_time now) {
  date x;
  if (read_imf(text, x) || read_asctime(text, x = {}))
    return instant_of(x);
  if (read_rfc850(text, x = {}))
    return short_year(x, now);
  return std::nullopt;
}

duration parse_retry_after(std::string_view text, wall_time now) {
  text = without_blanks(text);
  if (auto wait = read_units(text, std::chrono::seconds(1)))
    return *wait;
  auto at = parse_http_date(text, now);
  if (!at)
    return do_not_retry;
  if (*at <= now)
    return duration::zero();
  // In seconds: there are not enough nanoseconds for any year.
  auto wait = *at - now;
  constexpr auto longest = duration_cast<std::chrono::seconds>(
    longest_pushback);
  return wait > longest ? do_not_retry : duration{wait};
}

duration parse_grpc_pushback(std::string_view text) {
  return read_units(without_blanks(text), milliseconds(1))
    .value_or(do_not_retry);
}

} // namespace caisson
