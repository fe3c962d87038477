#include <sim/report/html.hpp>
#include <sim/report/html_data.hpp>
#include <sim/report/html_parts.hpp>

#include <map>
#include <ostream>
#include <string_view>

namespace caisson::sim {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (auto c : text)
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

} // namespace

void write_html(std::ostream& out, const report& r, const html_source& source) {
  using nlohmann::ordered_json;
  auto data = html_data(r, source).dump(-1, ' ', false,
                                        ordered_json::error_handler_t::replace);
  auto title = ordered_json(r.title.empty() ? r.file : r.title)
                 .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  const std::map<std::string_view, std::string> own{
    {"title", escaped(ordered_json::parse(title).get<std::string>())},
    {"data", script_safe(data)},
  };
  const std::map<std::string_view, std::string_view> parts{
    {"style", html_parts::style},
    {"script", html_parts::script},
    {"library", html_parts::library},
    {"library_style", html_parts::library_style},
    {"title", own.at("title")},
    {"data", own.at("data")},
  };
  // What is put in is not looked at again: it may hold anything.
  auto rest = html_parts::page;
  for (;;) {
    auto begin = rest.find("{{");
    auto end = rest.find("}}", begin);
    if (begin == rest.npos || end == rest.npos)
      break;
    out << rest.substr(0, begin)
        << parts.at(rest.substr(begin + 2, end - begin - 2));
    rest.remove_prefix(end + 2);
  }
  out << rest;
}

} // namespace caisson::sim
