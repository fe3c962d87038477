#include <caisson/settings/setting.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace detail;

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
                     || read_number(text, ignored) != read_result::wrong_type;
      return literal ? shortened(text, longest_quoted) : detail::quoted(x.text);
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
    std::string operator()(const std::string& x) const {
      return detail::quoted(x);
    }
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
