#include <simulator/scenario/load_recording.hpp>

#include <simulator/scenario/parse_helpers.hpp>
#include <simulator/scenario/random.hpp>
#include <simulator/scenario/recording_row.hpp>

#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <istream>
#include <streambuf>
#include <system_error>

namespace caisson::sim {

namespace {

constexpr std::size_t most_problems = 10;
constexpr duration longest = std::chrono::hours(100);

class column_field final : public field_value {
public:
  explicit column_field(recording_column& x) : x_(x) {}

  std::string type() const override { return "column"; }

  std::string allowed() const override {
    return "an index from 0 on, or a name in the file's first line";
  }

  std::string text() const override {
    if (auto index = std::get_if<std::uint32_t>(&x_))
      return std::to_string(*index);
    if (auto name = std::get_if<std::string>(&x_))
      return detail::quoted(*name);
    return "first; of counts, the last";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto index = std::get_if<std::int64_t>(&from.value);
    auto name = detail::text_in(from);
    if (index && *index >= 0 && *index <= 1'000'000)
      x_ = static_cast<std::uint32_t>(*index);
    else if (name && !name->empty())
      x_ = std::string{*name};
    else
      out.push_back({problem_kind::type, path,
                     fmt::format("{} is not a column, allowed: {}",
                                 to_text(from), allowed()),
                     from.place});
  }

  void check(const setting_path&, problems&) const override {}

private:
  recording_column& x_;
};

// -- rows ---------------------------------------------------------------------

// Reads a file line by line and keeps count of what is wrong with it.
class rows {
public:
  rows(const recording_config& c, problems& out) : config_(c), out_(out) {}

  // The fields of the next row that is not empty; null at the end.
  const std::vector<std::string>* next(std::istream& from) {
    std::string text;
    while (std::getline(from, text)) {
      std::string_view line = text;
      if (++line_ == 1 && line.starts_with("\xef\xbb\xbf"))
        line.remove_prefix(3);
      if (detail::trimmed(line).empty())
        continue;
      fields_ = split_csv(line);
      return &fields_;
    }
    return nullptr;
  }

  void bad(std::string message) {
    if (++bad_ <= most_problems)
      out_.push_back({problem_kind::syntax,
                      {},
                      std::move(message),
                      fmt::format("{}:{}", config_.file, line_)});
  }

  // Reports how many problems were left out.
  void finish() {
    if (bad_ > most_problems)
      out_.push_back({problem_kind::syntax,
                      {},
                      fmt::format("and {} more bad rows", bad_ - most_problems),
                      config_.file});
  }

  [[nodiscard]] bool good() const noexcept { return bad_ == 0; }

private:
  const recording_config& config_;
  problems& out_;
  std::vector<std::string> fields_;
  std::size_t line_ = 0;
  std::size_t bad_ = 0;
};

// -- reading ------------------------------------------------------------------

class recording_reader {
public:
  recording_reader(const recording_config& c, problems& out)
    : config_(c), out_(out), rows_(c, out) {}

  recording read(std::istream& from) {
    auto fields = rows_.next(from);
    if (fields && !find_column(*fields))
      return {};
    if (fields && is_header(*fields))
      fields = rows_.next(from);
    for (; fields; fields = rows_.next(from))
      if (!row(*fields))
        return {};
    rows_.finish();
    if (!rows_.good())
      return {};
    if (counts_.size() == 1 && period_ == duration::zero()) {
      unknown_period();
      return {};
    }
    if (recording_.arrivals.empty() && recording_.rates.empty()) {
      out_.push_back({problem_kind::missing, "file", no_rows()});
      return {};
    }
    if (config_.format == recording_format::counts)
      add_rate(0);
    return std::move(recording_);
  }

private:
  // Finds out which column is meant. False if it does not exist.
  bool find_column(const std::vector<std::string>& first) {
    if (auto index = std::get_if<std::uint32_t>(&config_.column)) {
      column_ = *index;
      return true;
    }
    auto name = std::get_if<std::string>(&config_.column);
    if (!name) {
      last_ = config_.format == recording_format::counts;
      return true;
    }
    auto found = std::find(first.begin(), first.end(), *name);
    if (found == first.end()) {
      out_.push_back(
        {problem_kind::unknown, "column", no_such("column", *name, first)});
      return false;
    }
    named_ = true;
    column_ = static_cast<std::size_t>(found - first.begin());
    return true;
  }

  const std::string* field_in(const std::vector<std::string>& fields) const {
    auto i = last_ ? fields.size() - 1 : column_;
    return i < fields.size() ? &fields[i] : nullptr;
  }

  bool is_header(const std::vector<std::string>& fields) const {
    if (named_)
      return true;
    auto text = field_in(fields);
    double number = 0;
    return text && !parse_timestamp(*text)
           && detail::read_number(*text, number) != detail::read_result::good;
  }

  // False if the rest need not be read.
  bool row(const std::vector<std::string>& fields) {
    auto text = field_in(fields);
    if (!text) {
      rows_.bad(
        fmt::format("has no column {}, they are counted from 0", column_));
      return true;
    }
    return config_.format == recording_format::timestamps
             ? timestamp(*text)
             : count(*text, fields.front());
  }

  bool timestamp(const std::string& text) {
    auto at = parse_timestamp(text);
    if (!at) {
      rows_.bad(fmt::format("{} is not a timestamp, allowed: seconds, or "
                            "YYYY-MM-DD HH:MM:SS with an optional fraction",
                            detail::quoted(text)));
      return true;
    }
    if (previous_ && *at < *previous_) {
      rows_.bad(detail::quoted(text)
                + " is earlier than the row before it, timestamps must ascend");
      return true;
    }
    if (!previous_)
      first_ = *at;
    previous_ = *at;
    if (within_cut(*at - first_)) {
      if (recording_.arrivals.empty())
        first_kept_ = *at;
      recording_.arrivals.push_back(played(*at - first_kept_));
    }
    return true;
  }

  bool count(const std::string& text, const std::string& time) {
    double x = 0;
    if (detail::read_number(text, x) != detail::read_result::good || !(x >= 0)
        || !std::isfinite(x)) {
      rows_.bad(detail::quoted(text)
                + " is not a count, allowed: a number that is not negative");
      return true;
    }
    counts_.push_back(x);
    if (config_.period > duration::zero())
      period_ = config_.period;
    else if (!follow_time(time))
      return false;
    // The period is known from the second row on.
    if (period_ > duration::zero())
      while (next_ < counts_.size())
        keep(counts_[next_++]);
    return true;
  }

  // Finds the period and checks that rows are so far apart.
  bool follow_time(const std::string& text) {
    auto at = parse_timestamp(text);
    if (counts_.size() <= 2 && (!at || (previous_ && *at <= *previous_))) {
      unknown_period();
      return false;
    }
    if (!at || (period_ > duration::zero() && *at - *previous_ != period_))
      rows_.bad(fmt::format("{} does not come {} after the row before it",
                            detail::quoted(text), to_text(period_)));
    if (previous_ && period_ == duration::zero())
      period_ = *at - *previous_;
    if (at)
      previous_ = at;
    return true;
  }

  void unknown_period() {
    out_.push_back({problem_kind::missing, "period",
                    "is missing, and the first column of the first two rows "
                    "does not say it, allowed: 1ns to 100h"});
  }

  void keep(double n) {
    if (!within_cut(periods(index_++)))
      return;
    add_rate(n / to_seconds(period_) * config_.speed);
    counted_ += n;
    ++kept_;
  }

  // From the end of the rows that have been kept on.
  void add_rate(double rate) {
    recording_.rates.emplace_back(played(periods(kept_)), rate);
    recording_.before.push_back(counted_);
  }

  [[nodiscard]] duration periods(std::int64_t n) const {
    return n > unlimited / period_ ? unlimited : period_ * n;
  }

  [[nodiscard]] bool within_cut(duration at) const {
    return at >= config_.from && at < config_.to;
  }

  [[nodiscard]] duration played(duration d) const {
    auto ns = static_cast<long double>(d.count()) / config_.speed;
    return ns < 9e18L ? duration{std::llround(ns)} : unlimited;
  }

  [[nodiscard]] std::string no_rows() const {
    if (config_.from == duration::zero() && config_.to == unlimited)
      return detail::quoted(config_.file) + " has no row";
    return fmt::format("{} has no row from {} to {}",
                       detail::quoted(config_.file), to_text(config_.from),
                       to_text(config_.to));
  }

  const recording_config& config_;
  problems& out_;
  rows rows_;
  recording recording_;
  std::size_t column_ = 0;
  bool last_ = false;
  bool named_ = false;
  std::optional<duration> previous_;
  duration first_ = duration::zero();
  duration first_kept_ = duration::zero();
  // Of counts.
  duration period_ = duration::zero();
  std::vector<double> counts_;
  std::size_t next_ = 0;
  std::int64_t index_ = 0;
  std::int64_t kept_ = 0;
  double counted_ = 0;
};

} // namespace

void describe(field_visitor& v, recording_config& c) {
  v.on({.key = "file",
        .help = "a CSV file; its path is relative to the scenario's",
        .allowed = "the path of a CSV file",
        .required = true},
       c.file);
  v.choice({.key = "format",
            .help = "timestamps: a row for each request; counts: a row for "
                    "each period",
            .required = true},
           c.format);
  column_field column{c.column};
  v.on({"column", "which column is read"}, column);
  v.on(
    {.key = "period",
     .help = "counts only: how long a row lasts; default: as long as between "
             "the times in the first column of the first two rows",
     .when = {"format", {"counts"}}},
    c.period, {duration{1}, longest});
  v.on({"speed", "how many times as fast the recording is played"}, c.speed,
       {1e-6, 1e6});
  v.on({"from",
        "skips rows earlier than this after the recording's first row, in "
        "the recording's own time"},
       c.from, {duration::zero(), unlimited});
  v.on({"to", "skips rows this long after the recording's first row, or later; "
              "later than from"},
       c.to, {duration{1}, unlimited});
}

void check(const recording_config& c, const setting_path& path, problems& out) {
  if (c.to <= c.from)
    out.push_back({problem_kind::relation, path / "to",
                   fmt::format("{} is not after from, which is {}",
                               to_text(c.to), to_text(c.from))});
}

recording read_recording(const recording_config& c, problems& out) {
  auto refused = [&](std::error_code why) {
    out.push_back({problem_kind::syntax, "file",
                   fmt::format("{} cannot be read: {}", detail::quoted(c.file),
                               why.message())});
    return recording{};
  };
  // Opening a directory succeeds, and reading it then fails without a reason.
  std::error_code ignored;
  if (std::filesystem::is_directory(c.file, ignored))
    return refused(std::make_error_code(std::errc::is_a_directory));
  errno = 0;
  std::ifstream file{c.file, std::ios::binary};
  if (!file)
    return refused({errno, std::generic_category()});
  auto result = recording_reader{c, out}.read(file);
  if (file.bad())
    return refused(std::make_error_code(std::errc::io_error));
  return result;
}

recording read_recording_text(const recording_config& c, std::string_view text,
                              problems& out) {
  // Without a copy, which may be large.
  struct view : std::streambuf {
    explicit view(std::string_view x) {
      auto begin = const_cast<char*>(x.data());
      setg(begin, begin, begin + x.size());
    }
  } buffer{text};
  std::istream in{&buffer};
  return recording_reader{c, out}.read(in);
}

recording recording_source::read(recording_config c, problems& out) const {
  if (!find_) {
    c.file = (base_ / c.file).string();
    return read_recording(c, out);
  }
  if (auto text = find_(c.file))
    return read_recording_text(c, *text, out);
  out.push_back({problem_kind::missing, "file",
                 detail::quoted(c.file) + " did not come with the scenario"});
  return {};
}

std::vector<duration> copied(const std::vector<duration>& arrivals,
                             double scale) {
  auto whole = std::floor(scale);
  std::vector<duration> out;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    auto copies = static_cast<std::uint64_t>(whole);
    if (keyed_random{draw_key{i}}.uniform() < scale - whole)
      ++copies;
    for (std::uint64_t j = 0; j < copies; ++j)
      out.push_back(arrivals[i]
                    + std::chrono::microseconds(static_cast<std::int64_t>(j)));
  }
  // Copies may come after the next arrival.
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace caisson::sim
