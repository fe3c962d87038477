#include <caisson/settings/field_lister.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <utility>

namespace caisson {

using namespace detail;

void field_lister::add(const field& f, std::string_view type,
                       std::string allowed, std::string value) {
  rows.push_back(
    {std::string{f.key},
     f.unit.empty() ? std::string{type} : fmt::format("{} ({})", type, f.unit),
     f.allowed.empty() ? std::move(allowed) : std::string{f.allowed},
     absent_ ? std::string{} : std::move(value), std::string{f.help},
     f.required && f.unless.empty() && f.when.key.empty() && f.one_of.empty(),
     choices_.applies(f) == true});
  absent_ = false;
}

bool field_lister::visits(const field&, bool has_value) {
  absent_ = !has_value;
  return true;
}

void field_lister::on(const field& f, bool& x) {
  auto text = x ? "true" : "false";
  add(f, "boolean", "true, false", text);
  choices_.set(f.key, text);
}

void field_lister::on(const field& f, std::int64_t& x, range<std::int64_t> r) {
  add(f, "integer", allowed(r), std::to_string(x));
}

void field_lister::on(const field& f, double& x, range<double> r) {
  add(f, "number", allowed(r), to_text(x));
}

void field_lister::on(const field& f, duration& x, range<duration> r) {
  add(f, "duration", allowed(r), to_text(x));
}

void field_lister::on(const field& f, std::string& x) {
  add(f, "string", "any text", detail::quoted(x));
}

void field_lister::on(const field& f, std::vector<std::string>& x) {
  add(f, "list", "a list of strings", listed(x));
}

void field_lister::on(const field& f, field_value& x) {
  add(f, x.type(), x.allowed(), x.text());
}

void field_lister::on(const field& f, std::size_t& x,
                      std::span<const std::string_view> names) {
  auto text = x < names.size() ? std::string{names[x]}
                               : fmt::format("value {}", x);
  add(f, "choice", listed(names), text);
  choices_.set(f.key, text);
}

} // namespace caisson
