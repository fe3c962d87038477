#include <caisson/schedule.hpp>
#include <caisson/settings.hpp>
#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace caisson {

using namespace detail;

// -- problems -----------------------------------------------------------------

namespace {

// Beyond that a line is of no use to anybody.
constexpr std::size_t longest_shown_key = 300;
constexpr std::size_t longest_shown_message = 4000;

} // namespace

std::string to_text(const problem& p) {
  auto out = printable(p.place);
  for (const auto& part :
       {printable(shortened(p.key, longest_shown_key)),
        printable(shortened(p.message, longest_shown_message))}) {
    if (!out.empty() && !part.empty())
      out += ": ";
    out += part;
  }
  return out;
}

std::string to_text(const problems& ps) {
  std::string out;
  auto listed = std::min(ps.size(), most_listed_problems);
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0)
      out += '\n';
    out += to_text(ps[i]);
  }
  if (listed < ps.size())
    out += fmt::format("\n... and {} more: {} problems in all",
                       ps.size() - listed, ps.size());
  return out;
}

config_error::config_error(problems found)
  : std::invalid_argument(to_text(found)), problems_(std::move(found)) {}

// -- range_checker ------------------------------------------------------------

void range_checker::on(const field& f, std::int64_t& x, range<std::int64_t> r) {
  if (!within(x, r))
    out_.push_back(
      {{}, joined(path_, f.key), out_of_range(std::to_string(x), r)});
}

void range_checker::on(const field& f, double& x, range<double> r) {
  if (!std::isfinite(x))
    out_.push_back({{}, joined(path_, f.key), not_finite(to_text(x), r)});
  else if (!within(x, r))
    out_.push_back({{}, joined(path_, f.key), out_of_range(to_text(x), r)});
}

void range_checker::on(const field& f, duration& x, range<duration> r) {
  if (!within(x, r))
    out_.push_back({{}, joined(path_, f.key), out_of_range(to_text(x), r)});
}

void range_checker::on(const field& f, schedule& x) {
  check_schedule(x, joined(path_, f.key), out_);
}

void range_checker::on(const field& f, field_value& x) {
  x.check(joined(path_, f.key), out_);
}

void range_checker::on(const field& f, std::size_t& x,
                       std::span<const std::string_view> names) {
  if (x >= names.size())
    out_.push_back({{},
                    joined(path_, f.key),
                    not_one_of(fmt::format("value {}", x), names)});
}

// -- field_lister -------------------------------------------------------------

namespace {

field_row row(const field& f, std::string_view type, std::string allowed,
              std::string value) {
  auto with_unit = f.unit.empty() ? std::string{type}
                                  : fmt::format("{} ({})", type, f.unit);
  return {std::string{f.key}, std::move(with_unit), std::move(allowed),
          std::move(value), std::string{f.help}};
}

} // namespace

void field_lister::on(const field& f, bool& x) {
  rows.push_back(row(f, "boolean", "true, false", x ? "true" : "false"));
}

void field_lister::on(const field& f, std::int64_t& x, range<std::int64_t> r) {
  rows.push_back(row(f, "integer", allowed(r), std::to_string(x)));
}

void field_lister::on(const field& f, double& x, range<double> r) {
  rows.push_back(row(f, "number", allowed(r), to_text(x)));
}

void field_lister::on(const field& f, duration& x, range<duration> r) {
  rows.push_back(row(f, "duration", allowed(r), to_text(x)));
}

void field_lister::on(const field& f, std::string& x) {
  rows.push_back(row(f, "string", "any text", quoted(x)));
}

void field_lister::on(const field& f, std::vector<std::string>& x) {
  rows.push_back(row(f, "list", "a list of strings", listed(x)));
}

void field_lister::on(const field& f, schedule& x) {
  rows.push_back(
    row(f, "schedule", "a duration, a table or a list of tables", to_text(x)));
}

void field_lister::on(const field& f, field_value& x) {
  rows.push_back(row(f, x.type(), x.allowed(), x.text()));
}

void field_lister::on(const field& f, std::size_t& x,
                      std::span<const std::string_view> names) {
  rows.push_back(
    row(f, "choice", listed(names),
        x < names.size() ? std::string{names[x]} : fmt::format("value {}", x)));
}

// -- free functions -----------------------------------------------------------

std::string joined(std::string_view path, std::string_view key) {
  if (path.empty() || key.empty())
    return std::string{path.empty() ? key : path};
  return fmt::format("{}.{}", path, key);
}

settings settings_from_text(const std::map<std::string, std::string>& pairs) {
  settings out;
  for (const auto& [key, text] : pairs) {
    auto table = &out;
    std::string_view rest = key;
    // What reads and what frees the tree calls itself for each level.
    if (!key_excess(key).empty()) {
      out[key].value = setting::raw{text};
      continue;
    }
    for (auto dot = rest.find('.'); dot != std::string_view::npos;
         dot = rest.find('.')) {
      auto [i, fresh] = table->try_emplace(std::string{rest.substr(0, dot)});
      if (fresh)
        i->second.value = settings{};
      auto below = std::get_if<settings>(&i->second.value);
      if (!below)
        break;
      table = below;
      rest.remove_prefix(dot + 1);
    }
    (*table)[std::string{rest}].value = setting::raw{text};
  }
  return out;
}

std::string to_text(const setting& s) {
  struct {
    std::string operator()(const setting::raw& x) const {
      double ignored = 0;
      auto text = trimmed(x.text);
      auto literal = text == "true" || text == "false"
                     || read_number(text, ignored) != reading::wrong_type;
      return literal ? shortened(text, longest_quoted) : quoted(x.text);
    }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const {
      auto text = to_text(x);
      // As it is written, so that it does not read like an integer.
      auto digits_only = text.find_first_not_of("-0123456789")
                         == std::string::npos;
      return digits_only ? text + ".0" : text;
    }
    std::string operator()(const std::string& x) const { return quoted(x); }
    std::string operator()(const std::vector<setting>&) const {
      return "a list";
    }
    std::string operator()(const settings&) const { return "a table"; }
  } as_text;
  return std::visit(as_text, s.value);
}

std::string to_text(double x) {
  return fmt::format("{}", x);
}

} // namespace caisson
