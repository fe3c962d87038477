#include <simulator/scenario/distribution_value.hpp>

#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

constexpr range<duration> any_length{duration::zero(), std::chrono::hours(100)};

std::string values_allowed() {
  return fmt::format("a list of at least one duration of {}",
                     detail::allowed(any_length));
}

// The values of an empirical distribution.
class values_field final : public field_value {
public:
  explicit values_field(std::vector<duration>& x) : x_(x) {}

  std::string type() const override { return "list"; }
  std::string allowed() const override { return values_allowed(); }

  std::string text() const override {
    std::vector<std::string> all;
    for (auto d : x_)
      all.push_back(to_text(d));
    return detail::listed(all);
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto list = detail::list_in(from, path, allowed(), out);
    if (!list)
      return;
    x_.assign(list->size(), duration::zero());
    for (std::size_t i = 0; i < list->size(); ++i)
      detail::read_value((*list)[i], path / i, x_[i], any_length, out);
  }

  void check(const setting_path& path, problems& out) const override {
    if (x_.empty())
      out.push_back(
        {problem_kind::missing, path, "is empty, allowed: " + allowed()});
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (!detail::within(x_[i], any_length))
        out.push_back({problem_kind::range, path / i,
                       detail::out_of_range(to_text(x_[i]), any_length)});
  }

private:
  std::vector<duration>& x_;
};

} // namespace

// -- distributions ------------------------------------------------------------

// Some kinds share a parameter under different names.
void describe(field_visitor& v, distribution& x) {
  v.choice({.key = "kind", .help = "which distribution", .required = true},
           x.kind_);
  auto on = [&](std::string_view key, std::string_view help, choice_of when,
                auto& value, auto... allowed) {
    v.on({.key = key, .help = help, .required = true, .when = when}, value,
         allowed...);
  };
  on("mean", "the mean; of an Erlang distribution that of the sum",
     {"kind",
      {"constant", "exponential", "erlang", "lognormal", "normal", "weibull",
       "hyperexponential", "pareto"}},
     x.mean_, any_length);
  on("min", "the shortest", {"kind", {"uniform"}}, x.low_, any_length);
  on("max", "the longest", {"kind", {"uniform"}}, x.high_, any_length);
  v.integer<std::uint32_t>({.key = "k",
                            .help = "how many phases",
                            .required = true,
                            .when = {"kind", {"erlang"}}},
                           x.k_, {1, 1000});
  on("cv", "the standard deviation divided by the mean",
     {"kind", {"lognormal", "normal", "hyperexponential"}}, x.ratio_,
     range<double>{0.0, 100.0});
  on("shape", "the exponent; the lower, the longer the tail",
     {"kind", {"weibull", "pareto"}}, x.ratio_, range<double>{0.1, 100.0});
  on("fast", "the usual one", {"kind", {"bimodal"}}, x.low_, any_length);
  on("slow", "the other one", {"kind", {"bimodal"}}, x.high_, any_length);
  on("share", "the probability of the other one", {"kind", {"bimodal"}},
     x.ratio_, range<double>{0.0, 1.0});
  values_field values{x.values_};
  v.on({.key = "values",
        .help = "each as likely as any other",
        .required = true,
        .nonempty = true,
        .when = {"kind", {"empirical"}}},
       values);
}

void check(const distribution& x, const setting_path& path, problems& out) {
  if (x.kind_ == distribution::kind::uniform && x.high_ < x.low_)
    out.push_back({problem_kind::relation, path / "max",
                   fmt::format("{} is less than min, which is {}",
                               to_text(x.high_), to_text(x.low_))});
  auto wrong = [&](std::string_view key, std::string_view allowed) {
    out.push_back({problem_kind::relation, path / key,
                   fmt::format("{} does not suit a distribution of this kind, "
                               "allowed: {}",
                               x.ratio_, allowed)});
  };
  using enum distribution::kind;
  if (x.kind_ == normal && x.ratio_ > 0.5)
    wrong("cv", "0 to 0.5");
  if (x.kind_ == hyperexponential && x.ratio_ < 1)
    wrong("cv", "1 to 100");
  if (x.kind_ == pareto && x.ratio_ <= 1)
    wrong("shape", "more than 1, at most 100");
}

} // namespace caisson::sim

// -- as a field ---------------------------------------------------------------

namespace caisson {

using value_of_distribution = field_value_for<sim::distribution>;

std::string value_of_distribution::type() const {
  return "distribution";
}

std::string value_of_distribution::allowed() const {
  return fmt::format(
    "a duration of {}, or a table with kind: {}",
    detail::allowed(sim::any_length),
    detail::listed(enum_names<sim::distribution::kind>::value));
}

std::string value_of_distribution::text() const {
  auto copy = x_;
  field_lister fields;
  describe(fields, copy);
  std::string out;
  for (const auto& row : fields.rows) {
    if (!row.applies)
      continue;
    auto in_quotes = row.type == "duration" || row.type == "choice";
    out += out.empty() ? "{ " : ", ";
    out += row.key + " = ";
    out += in_quotes ? detail::quoted(row.value) : row.value;
  }
  return x_ == sim::distribution{x_.mean()} ? to_text(x_.mean()) : out + " }";
}

void value_of_distribution::read(const setting& from, const setting_path& path,
                                 problems& out) {
  auto length = duration::zero();
  if (auto table = std::get_if<settings>(&from.value)) {
    sim::distribution next;
    auto found = read_settings({*table, path, from.place}, next);
    if (found.empty())
      x_ = std::move(next);
    out.insert(out.end(), found.begin(), found.end());
  } else if (auto text = detail::text_in(from); text && parse_duration(*text)) {
    if (detail::read_value(from, path, length, sim::any_length, out))
      x_ = sim::distribution{length};
  } else {
    out.push_back({problem_kind::type, path,
                   fmt::format("{} is not a distribution, allowed: {}",
                               to_text(from), allowed()),
                   from.place});
  }
}

void value_of_distribution::check(const setting_path& path,
                                  problems& out) const {
  detail::check_fields(x_, path, out);
}

} // namespace caisson
