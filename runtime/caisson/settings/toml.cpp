#include <caisson/settings/toml.hpp>

#include <caisson/settings/detail/toml_limits.hpp>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace caisson {

namespace {

std::string place_in(std::string_view source, toml::source_position at) {
  return fmt::format("{}:{}:{}", source, at.line, at.column);
}

class converter {
public:
  converter(std::string_view source, problems& out)
    : source_(source), out_(out) {}

  settings table(const toml::table& from) {
    settings to;
    for (const auto& [key, value] : from) {
      auto outer = path_;
      path_ = outer / key.str();
      if (auto x = node(value))
        to.emplace(key.str(), std::move(*x));
      path_ = std::move(outer);
    }
    return to;
  }

private:
  std::optional<setting> node(const toml::node& from) {
    setting to;
    to.place = place_in(source_, from.source().begin);
    if (auto t = from.as_table())
      to.value = table(*t);
    else if (auto a = from.as_array())
      to.value = list(*a);
    else if (auto text = from.as_string())
      to.value = text->get();
    else if (auto integer = from.as_integer())
      to.value = integer->get();
    else if (auto boolean = from.as_boolean())
      to.value = boolean->get();
    else if (auto number = from.as_floating_point();
             number && std::isfinite(number->get()))
      to.value = number->get();
    else
      return refused(from, to.place);
    return to;
  }

  std::vector<setting> list(const toml::array& from) {
    std::vector<setting> to;
    std::size_t i = 0;
    for (const auto& item : from) {
      auto outer = path_;
      path_ = outer / i++;
      if (auto x = node(item))
        to.push_back(std::move(*x));
      path_ = std::move(outer);
    }
    return to;
  }

  std::nullopt_t refused(const toml::node& from, const std::string& place) {
    std::ostringstream text;
    auto show = [&](auto* value) {
      if (value)
        text << value->get();
    };
    show(from.as_date());
    show(from.as_time());
    show(from.as_date_time());
    if (auto number = from.as_floating_point())
      out_.push_back({problem_kind::type, path_,
                      to_text(number->get())
                        + " is not a finite number; where a duration may be "
                          "without end, write \"unlimited\"",
                      place});
    else
      out_.push_back({problem_kind::type, path_,
                      text.str()
                        + " is a date or a time of day, which no setting is; "
                          "durations are texts such as \"250ms\"",
                      place});
    return std::nullopt;
  }

  std::string_view source_;
  problems& out_;
  // That of what is read.
  setting_path path_;
};

settings refuse_file(const std::filesystem::path& path, std::error_code why,
                     problems& out) {
  out.push_back({problem_kind::syntax,
                 {},
                 "cannot be read: " + why.message(),
                 path.string()});
  return {};
}

} // namespace

settings parse_toml(std::string_view text, std::string_view source_name,
                    problems& out) {
  if (auto excess = detail::toml_excess(text, source_name)) {
    out.push_back(std::move(*excess));
    return {};
  }
  try {
    auto root = toml::parse(text);
    return converter{source_name, out}.table(root);
  } catch (const toml::parse_error& e) {
    out.push_back({problem_kind::syntax,
                   {},
                   fmt::format("not TOML: {}", e.description()),
                   place_in(source_name, e.source().begin)});
    return {};
  }
}

settings read_toml_file(const std::filesystem::path& path, problems& out) {
  // Opening a directory succeeds, and reading it then fails without a reason.
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return refuse_file(path, std::make_error_code(std::errc::is_a_directory),
                       out);
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file)
    return refuse_file(path, {errno, std::generic_category()}, out);
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (file.bad())
    return refuse_file(path, std::make_error_code(std::errc::io_error), out);
  return parse_toml(text, path.string(), out);
}

} // namespace caisson
