#include <simulator/report/html.hpp>
#include <simulator/report/html_data.hpp>
#include <simulator/report/html_page.hpp>
#include <simulator/report/html_parts.hpp>

#include <ostream>
#include <string>

namespace caisson::sim {

void write_html(std::ostream& out, const report& r, const html_source& source) {
  using nlohmann::ordered_json;
  auto data = html_data(r, source).dump(-1, ' ', false,
                                        ordered_json::error_handler_t::replace);
  auto name = html_escaped(r.title.empty() ? r.file : r.title);
  auto text = script_safe(data);
  fill_page(out, html_parts::page,
            {{"style", html_parts::style},
             {"script", html_parts::script},
             {"library", html_parts::library},
             {"library_style", html_parts::library_style},
             {"title", name},
             {"data", text}});
}

} // namespace caisson::sim
