#include <ctl/views.hpp>

#include <ctl/answers.hpp>
#include <ctl/numbers.hpp>

#include <simulator/report/table.hpp>

#include <caisson/base/time.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;
using sim::text_table;
using align = text_table::align;

std::string text_of(const text_table& table) {
  std::ostringstream out;
  table.write(out);
  return out.str();
}

// -- a list -------------------------------------------------------------------

std::string unusual_layers(const json& gate) {
  std::string out;
  for (const auto& layer : list_in(gate, "layers")) {
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

std::string with_sign(const number_unit* u, std::int64_t change) {
  return change < 0 ? "-" + with_unit(u, -change) : "+" + with_unit(u, change);
}

// Numbers of another program may be any: at most what has a number of the other
// sign.
std::int64_t difference(std::int64_t x, std::int64_t y) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  std::int64_t out = 0;
  if (__builtin_sub_overflow(x, y, &out))
    return x < y ? -most : most;
  return std::max(out, -most);
}

// States are shown by name. While a breaker is forced, so is the one that it
// would have.
std::string state_text(const std::string& name, const std::string& state,
                       std::int64_t x) {
  constexpr const char* names[] = {"closed", "open", "half_open"};
  if (name != "automatic_state" || !state.starts_with("forced") || x < 0
      || x >= std::ssize(names))
    return {};
  return fmt::format("automatic_state {}", names[x]);
}

bool is_state(const std::string& name) {
  return name == "state" || name == "automatic_state";
}

/// What is shown, and what has changed since, in what time.
struct readings {
  const json& now;
  const json& before;
  duration elapsed;

  [[nodiscard]] readings of(const char* key) const {
    return {object_in(now, key), object_in(before, key), elapsed};
  }
};

// `+3, 1.5/s`
std::string change_text(const number_unit* u, const std::string& name,
                        std::int64_t change, duration elapsed) {
  auto out = with_sign(u, change);
  if (!u && !is_gauge(name) && change > 0 && elapsed > duration::zero())
    out += fmt::format(", {:.3g}/s",
                       static_cast<double>(change) / to_seconds(elapsed));
  return out;
}

// `calls 12 (+3)`; what is zero or not defined is left out, and the most
// important comes first. `state` is the name of the layer's state.
std::vector<std::string> numbers_of(const readings& r,
                                    const std::string& state = {}) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& [key, _] : r.now.items()) {
    auto x = number_in(r.now, key.c_str());
    if (!state.empty() && is_state(key)) {
      if (auto text = state_text(key, state, x); !text.empty())
        found.emplace_back(0, text);
      continue;
    }
    auto name = key;
    const auto* u = take_unit(name);
    auto was = r.before.contains(key) ? number_in(r.before, key.c_str()) : x;
    auto change = u && was < 0 ? 0 : difference(x, was);
    // A negative number stands for none.
    if (x < 0 || (x == 0 && change == 0))
      continue;
    auto text = fmt::format("{} {}", name, with_unit(u, x));
    if (change != 0)
      text += fmt::format(" ({})", change_text(u, name, change, r.elapsed));
    found.emplace_back(rank_of(name), detail::printable(text));
  }
  std::ranges::stable_sort(found, {},
                           &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> out;
  out.reserve(found.size());
  for (auto& x : found)
    out.push_back(std::move(x.second));
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
  static const json empty = json::object();
  for (const auto& x : list_in(gate, "layers"))
    if (text_in(x, "name") == name)
      return x;
  return empty;
}

std::string layers_view(const readings& r, std::size_t columns) {
  const auto& layers = list_in(r.now, "layers");
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
      numbers_of(
        readings{x, layer_named(r.before, name), r.elapsed}.of("metrics"),
        text_in(x, "state")),
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
  const auto& all = list_in(gate, "durations");
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
    return rounded_text(duration{number_in(x, key)});
  };
  for (const auto& x : all)
    table.row({text_in(x, "what"), x.value("ok", true) ? "ok" : "not ok",
               fmt::to_string(number_in(x, "count")), time(x, "p50_ns"),
               time(x, "p90_ns"), time(x, "p99_ns"), time(x, "max_ns")});
  return '\n' + text_of(table);
}

// What calls needed; quantiles are bounds of buckets, and beyond the last there
// is none.
std::string tallies_view(const json& gate) {
  const auto& all = list_in(gate, "tallies");
  if (all.empty())
    return {};
  text_table table{{{"per call", align::left},
                    {"outcome", align::left},
                    {"count"},
                    {"mean"},
                    {"p50"},
                    {"p90"},
                    {"p99"}}};
  for (const auto& x : all) {
    auto what = text_in(x, "what");
    // The limit is in thousandths.
    auto in_percent = what == "limit_used";
    auto number = [&](double n, const char* form) {
      return fmt::format(fmt::runtime(form), in_percent ? n / 10 : n)
             + (in_percent ? "%" : "");
    };
    auto quantile = [&](const char* key) {
      if (!x.contains(key))
        return std::string{"more"};
      return number(static_cast<double>(number_in(x, key)), "<={:.0f}");
    };
    auto count = number_in(x, "count");
    auto mean = static_cast<double>(number_in(x, "sum"))
                / static_cast<double>(std::max<std::int64_t>(count, 1));
    table.row({what, x.value("ok", true) ? "ok" : "not ok",
               fmt::to_string(count), number(mean, "{:.2f}"), quantile("p50"),
               quantile("p90"), quantile("p99")});
  }
  return '\n' + text_of(table);
}

} // namespace

std::string list_view(const json& answer) {
  const auto& gates = needed_list(answer, "gates");
  if (gates.empty())
    return "no gates\n";
  text_table table{{{"gate", align::left},
                    {"state", align::left},
                    {"worker", align::left},
                    {"calls"},
                    {"failed"},
                    {"in progress"},
                    {"layers that need attention", align::left}}};
  for (const auto& x : gates) {
    auto name = text_in(x, "name");
    if (auto error = text_in(x, "error"); !error.empty()) {
      table.row({name, "?", "", "", "", "", error});
      continue;
    }
    const auto& metrics = object_in(x, "metrics");
    auto number = [&](const char* key) {
      return fmt::to_string(number_in(metrics, key));
    };
    table.row({name, text_in(x, "state"), text_in(x, "worker"), number("calls"),
               number("failed"), number("in_progress"), unusual_layers(x)});
  }
  return text_of(table);
}

std::string gate_view(const json& answer, const json& before,
                      std::size_t columns, duration elapsed) {
  const readings r{answer, before, elapsed};
  auto out = detail::printable(
               fmt::format("{}: {}, worker {}", text_in(answer, "name"),
                           text_in(answer, "state"), text_in(answer, "worker")))
             + '\n';
  for (const auto& line : lines_of(numbers_of(r.of("metrics")), columns))
    out += line + '\n';
  return out + '\n' + layers_view(r, columns) + durations_view(answer)
         + tallies_view(answer);
}

std::string states_view(const json& answer, const std::string& layer) {
  text_table table{
    {{"layer", align::left}, {"mode", align::left}, {"state", align::left}}};
  for (const auto& x : needed_list(answer, "layers"))
    if (layer.empty() || text_in(x, "name") == layer)
      table.row({text_in(x, "name"), text_in(x, "mode"), text_in(x, "state")});
  return text_of(table);
}

std::string settings_view(const json& answer, const std::string& layer,
                          const std::set<std::string>& keys) {
  text_table table{
    {{"layer", align::left}, {"setting", align::left}, {"value", align::left}}};
  for (const auto& x : needed_list(answer, "layers"))
    if (layer.empty() || text_in(x, "name") == layer)
      for (const auto& [key, value] : object_in(x, "settings").items())
        if (keys.empty() || keys.contains(key))
          table.row({text_in(x, "name"), key, value.get<std::string>()});
  return text_of(table);
}

std::string reload_view(const json& answer) {
  std::string out;
  for (const auto& file : needed_list(answer, "files")) {
    for (const auto& x : needed_list(file, "changes")) {
      auto layer = text_in(x, "layer");
      out += detail::printable(fmt::format("{}{}{}: {}", text_in(x, "gate"),
                                           layer.empty() ? "" : "/", layer,
                                           text_in(x, "what")))
             + '\n';
    }
    if (list_in(file, "changes").empty()
        && file.value("problems", json::array()).empty())
      out += "nothing has changed\n";
  }
  return out;
}

} // namespace caisson::ctl
