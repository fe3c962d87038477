#include <ctl/views.hpp>

#include <sim/report/numbers.hpp>
#include <sim/report/table.hpp>

#include <caisson/detail/settings_text.hpp>
#include <caisson/time.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <vector>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;
using sim::text_table;
using align = text_table::align;

// A program of another version may leave something out.
std::string text_in(const json& x, const char* key) {
  auto i = x.find(key);
  return i != x.end() && i->is_string() ? i->get<std::string>() : std::string{};
}

std::int64_t number_in(const json& x, const char* key) {
  auto i = x.find(key);
  return i != x.end() && i->is_number() ? i->get<std::int64_t>() : 0;
}

const json& part_of(const json& x, const char* key) {
  static const json nothing = json::array();
  auto i = x.find(key);
  return i != x.end() ? *i : nothing;
}

std::string text_of(const text_table& table) {
  std::ostringstream out;
  table.write(out);
  return out.str();
}

// -- a list -------------------------------------------------------------------

// What an operator looks for: a layer that is not as usual.
bool is_usual(const json& layer) {
  auto state = text_in(layer, "state");
  return text_in(layer, "mode") == "enforce"
         && (state.empty() || state == "closed" || state == "normal");
}

std::string unusual_layers(const json& gate) {
  std::string out;
  for (const auto& layer : part_of(gate, "layers")) {
    if (is_usual(layer))
      continue;
    auto state = text_in(layer, "state");
    auto mode = text_in(layer, "mode");
    out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ",
                       text_in(layer, "name"), state.empty() ? "" : " ", state);
    if (mode != "enforce")
      out += fmt::format(" ({})", mode);
  }
  return out;
}

// -- numbers ------------------------------------------------------------------

// `calls 12 (+3)`
std::vector<std::string> numbers_of(const json& now, const json& before) {
  std::vector<std::string> out;
  for (const auto& [name, value] : now.items()) {
    auto x = value.get<std::int64_t>();
    auto change = before.contains(name) ? x - number_in(before, name.c_str())
                                        : 0;
    if (x == 0 && change == 0)
      continue;
    auto text = fmt::format("{} {}", name, x);
    if (change != 0)
      text += fmt::format(" ({:+})", change);
    out.push_back(detail::printable(text));
  }
  return out;
}

// As few lines as possible, each at most so wide unless one alone is wider.
std::vector<std::string> lines_of(const std::vector<std::string>& texts,
                                  std::size_t width) {
  std::vector<std::string> out;
  for (const auto& x : texts)
    if (out.empty() || out.back().size() + 2 + x.size() > width)
      out.push_back(x);
    else
      out.back() += "  " + x;
  return out;
}

const json& layer_named(const json& gate, const std::string& name) {
  static const json nothing = json::object();
  for (const auto& x : part_of(gate, "layers"))
    if (text_in(x, "name") == name)
      return x;
  return nothing;
}

std::string layers_view(const json& gate, const json& before,
                        std::size_t columns) {
  const auto& layers = part_of(gate, "layers");
  if (layers.empty())
    return "no layers\n";
  constexpr const char* heads[] = {"name", "kind", "mode", "state"};
  constexpr const char* titles[] = {"layer", "kind", "mode", "state"};
  std::size_t left = 0;
  for (std::size_t i = 0; i < std::size(heads); ++i) {
    std::size_t widest = std::string_view{titles[i]}.size();
    for (const auto& x : layers)
      widest = std::max(widest, text_in(x, heads[i]).size());
    left += widest + 2;
  }
  const auto width = columns > left + 30 ? columns - left : 30;
  text_table table{{{"layer", align::left},
                    {"kind", align::left},
                    {"mode", align::left},
                    {"state", align::left},
                    {"numbers", align::left}}};
  for (const auto& x : layers) {
    auto name = text_in(x, "name");
    auto lines = lines_of(
      numbers_of(part_of(x, "metrics"),
                 part_of(layer_named(before, name), "metrics")),
      width);
    lines.resize(std::max<std::size_t>(1, lines.size()));
    table.row({name, text_in(x, "kind"), text_in(x, "mode"),
               text_in(x, "state"), lines.front()});
    for (std::size_t i = 1; i < lines.size(); ++i)
      table.row({"", "", "", "", lines[i]});
  }
  return text_of(table);
}

std::string durations_view(const json& gate) {
  const auto& all = part_of(gate, "durations");
  if (all.empty())
    return {};
  text_table table{{{"time of", align::left},
                    {"outcome", align::left},
                    {"count"},
                    {"p50"},
                    {"p90"},
                    {"p99"},
                    {"max"}}};
  auto time = [](const json& x, const char* key) {
    return sim::short_time(duration{number_in(x, key)});
  };
  for (const auto& x : all)
    table.row({text_in(x, "what"), x.value("ok", true) ? "ok" : "not ok",
               fmt::to_string(number_in(x, "count")), time(x, "p50_ns"),
               time(x, "p90_ns"), time(x, "p99_ns"), time(x, "max_ns")});
  return '\n' + text_of(table);
}

} // namespace

std::string list_view(const json& answer) {
  const auto& gates = part_of(answer, "gates");
  if (gates.empty())
    return "no gates\n";
  text_table table{{{"gate", align::left},
                    {"state", align::left},
                    {"worker", align::left},
                    {"calls"},
                    {"failed"},
                    {"in progress"},
                    {"layers not as usual", align::left}}};
  for (const auto& x : gates) {
    auto name = text_in(x, "name");
    if (auto error = text_in(x, "error"); !error.empty()) {
      table.row({name, "?", "", "", "", "", error});
      continue;
    }
    const auto& metrics = part_of(x, "metrics");
    auto number = [&](const char* key) {
      return fmt::to_string(number_in(metrics, key));
    };
    table.row({name, text_in(x, "state"), text_in(x, "worker"), number("calls"),
               number("failed"), number("in_progress"), unusual_layers(x)});
  }
  return text_of(table);
}

std::string gate_view(const json& answer, const json& before,
                      std::size_t columns) {
  auto out = detail::printable(
               fmt::format("{}: {}, worker {}", text_in(answer, "name"),
                           text_in(answer, "state"), text_in(answer, "worker")))
             + '\n';
  for (const auto& line : lines_of(
         numbers_of(part_of(answer, "metrics"), part_of(before, "metrics")),
         columns))
    out += line + '\n';
  return out + '\n' + layers_view(answer, before, columns)
         + durations_view(answer);
}

std::string states_view(const json& answer, const std::string& layer) {
  text_table table{
    {{"layer", align::left}, {"mode", align::left}, {"state", align::left}}};
  for (const auto& x : part_of(answer, "layers"))
    if (layer.empty() || text_in(x, "name") == layer)
      table.row({text_in(x, "name"), text_in(x, "mode"), text_in(x, "state")});
  return text_of(table);
}

std::string settings_view(const json& answer, const std::string& layer,
                          const std::set<std::string>& keys) {
  text_table table{
    {{"layer", align::left}, {"setting", align::left}, {"value", align::left}}};
  for (const auto& x : part_of(answer, "layers"))
    if (layer.empty() || text_in(x, "name") == layer)
      for (const auto& [key, value] : part_of(x, "settings").items())
        if (keys.empty() || keys.contains(key))
          table.row({text_in(x, "name"), key, value.get<std::string>()});
  return text_of(table);
}

std::string reload_view(const json& answer) {
  std::string out;
  for (const auto& file : part_of(answer, "files")) {
    for (const auto& x : part_of(file, "changes")) {
      auto layer = text_in(x, "layer");
      out += detail::printable(fmt::format("{}{}{}: {}", text_in(x, "gate"),
                                           layer.empty() ? "" : "/", layer,
                                           text_in(x, "what")))
             + '\n';
    }
    if (part_of(file, "changes").empty() && part_of(file, "problems").empty())
      out += "nothing has changed\n";
  }
  return out;
}

} // namespace caisson::ctl
