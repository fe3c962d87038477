#include <simulator/report/html_page.hpp>

#include <nlohmann/json.hpp>

#include <ostream>

namespace caisson::sim {

void fill_page(std::ostream& out, std::string_view page,
               const std::map<std::string_view, std::string_view>& parts) {
  for (;;) {
    auto begin = page.find("{{");
    auto end = page.find("}}", begin);
    if (begin == page.npos || end == page.npos)
      break;
    out << page.substr(0, begin)
        << parts.at(page.substr(begin + 2, end - begin - 2));
    page.remove_prefix(end + 2);
  }
  out << page;
}

std::string html_escaped(std::string_view text) {
  using nlohmann::json;
  auto readable = json::parse(
    json(text).dump(-1, ' ', false, json::error_handler_t::replace));
  std::string out;
  for (auto c : readable.get<std::string>())
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  return out;
}

// Within a script element only `<` can lead out of it, and in JSON it can only
// be part of a text.
std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (auto c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

} // namespace caisson::sim
