#include <caisson/settings/range_checker.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cmath>

namespace caisson {

using namespace detail;

void range_checker::wrong(const field& f, std::string message) {
  if (choices_.applies(f) != false)
    out_.push_back({problem_kind::range, path_ / f.key, std::move(message)});
}

void range_checker::on(const field& f, bool& x) {
  choices_.set(f.key, x ? "true" : "false");
}

void range_checker::on(const field& f, std::int64_t& x, range<std::int64_t> r) {
  if (!within(x, r))
    wrong(f, out_of_range(std::to_string(x), r));
}

void range_checker::on(const field& f, double& x, range<double> r) {
  if (!std::isfinite(x))
    wrong(f, not_finite(to_text(x), r));
  else if (!within(x, r))
    wrong(f, out_of_range(to_text(x), r));
}

void range_checker::on(const field& f, duration& x, range<duration> r) {
  if (!within(x, r))
    wrong(f, out_of_range(to_text(x), r));
}

void range_checker::on(const field& f, field_value& x) {
  if (choices_.applies(f) != false)
    x.check(path_ / f.key, out_);
}

void range_checker::on(const field& f, std::size_t& x,
                       std::span<const std::string_view> names) {
  if (x >= names.size())
    wrong(f, not_one_of(fmt::format("value {}", x), names));
  else
    choices_.set(f.key, names[x]);
}

} // namespace caisson
