#include <ctl/top/gate_page.hpp>

#include <ctl/answers.hpp>
#include <ctl/numbers.hpp>
#include <ctl/top/table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

// What is shown of one counter or gauge.
struct number_text {
  // Rejections first, then what rises, then the rest.
  int rank;
  std::string text;
  paint how;
};

const json& layer_of(const json& gate, const std::string& name) {
  static const json empty = json::object();
  for (const auto& x : list_in(gate, "layers"))
    if (text_in(x, "name") == name)
      return x;
  return empty;
}

// The counters that turn calls away, of a layer; of the gate if it has no name.
std::set<std::string> turning_away(const json& gate, const std::string& layer) {
  std::set<std::string> out;
  for (auto& x : rejections_in(gate))
    if (x.layer == layer)
      out.insert(std::move(x.counter));
  return out;
}

std::vector<number_text> numbers_in(const json& now, const json& before,
                                    double seconds,
                                    const std::set<std::string>& rejecting) {
  std::vector<number_text> out;
  for (const auto& [key, value] : now.items()) {
    if (!value.is_number() || key == "state" || key == "automatic_state")
      continue;
    auto x = number_in(now, key.c_str());
    auto name = key;
    const auto* unit = take_unit(name);
    name = in_words(name);
    auto more = before.contains(key) ? added(x, number_in(before, key.c_str()))
                                     : 0;
    auto is_share_or_time = unit != nullptr;
    if (more > 0 && seconds > 0 && !is_share_or_time && !is_gauge(key)) {
      auto away = rejecting.contains(key);
      out.push_back({away ? 0 : 1,
                     fmt::format("{} {}/s", name, short_number(more / seconds)),
                     away ? paint::strained : paint::plain});
    } else if (x != 0 && !(unit && x < 0)) {
      out.push_back({is_share_or_time || is_gauge(key) ? 2 : 3,
                     name + ' ' + with_unit(unit, x), paint::dim});
    }
  }
  std::ranges::stable_sort(out, {}, &number_text::rank);
  return out;
}

// As many of them as fit behind `first` and on lines below it, which begin with
// so many blanks.
std::vector<text_line> lines_with(const std::vector<number_text>& numbers,
                                  text_line first, std::size_t indent,
                                  std::size_t columns, std::size_t most_lines,
                                  bool utf8) {
  std::vector<text_line> out{std::move(first)};
  auto begins = true;
  for (const auto& x : numbers) {
    auto text = harmless(x.text, utf8);
    auto needs = width_of(text) + (begins ? 0 : 2);
    if (!begins && out.back().width() + needs > columns) {
      if (out.size() == most_lines)
        break;
      out.emplace_back(std::string(indent, ' '));
      begins = true;
    }
    if (!begins)
      out.back().add("  ");
    out.back().add(std::move(text), x.how);
    begins = false;
  }
  return out;
}

struct layer_head {
  std::string name;
  std::string state;
  paint how = paint::plain;
};

layer_head head_of_layer(const json& layer, bool utf8) {
  auto name = text_in(layer, "name");
  auto kind = text_in(layer, "kind");
  auto state = text_in(layer, "state");
  auto mode = text_in(layer, "mode");
  layer_head out{harmless(name, utf8), {}};
  for (const auto& x : {kind == name ? std::string{} : kind, in_words(state),
                        mode == "enforce" ? std::string{} : mode})
    if (!x.empty())
      out.state += (out.state.empty() ? "" : ", ") + x;
  out.state = harmless(out.state, utf8);
  if (!is_usual(layer))
    out.how = mode == "enforce" ? paint_of(grade_of_state(state))
                                : paint::strained;
  return out;
}

void add_layers(std::vector<text_line>& to, const opened_gate& gate,
                double seconds, std::size_t columns, bool utf8) {
  const auto& layers = list_in(gate.now, "layers");
  std::size_t names = 5;
  std::size_t states = 5;
  std::vector<layer_head> heads;
  for (const auto& x : layers) {
    heads.push_back(head_of_layer(x, utf8));
    names = std::max(names, width_of(heads.back().name));
    states = std::max(states, width_of(heads.back().state));
  }
  names = std::min<std::size_t>(names, columns >= 70 ? 24 : 16);
  states = std::min<std::size_t>(states, 24);
  const auto beside = columns >= 70;
  const auto indent = beside ? names + states + 4 : 2;
  text_line head{fitted("layer", names + 2, utf8)
                   + fitted("state", states + 2, utf8),
                 paint::dim};
  if (beside)
    head.add("numbers", paint::dim);
  to.push_back(std::move(head));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto name = text_in(layers[i], "name");
    text_line first{fitted(heads[i].name, names, utf8), paint::bold};
    first.add("  ");
    first.add(fitted(heads[i].state, states, utf8), heads[i].how);
    if (beside) {
      first.add("  ");
    } else {
      to.push_back(std::move(first));
      first = text_line{"  "};
    }
    auto numbers = numbers_in(object_in(layers[i], "metrics"),
                              object_in(layer_of(gate.before, name), "metrics"),
                              seconds, turning_away(gate.now, name));
    if (numbers.empty() && !beside)
      continue;
    std::ranges::move(
      lines_with(numbers, std::move(first), indent, columns, 2, utf8),
      std::back_inserter(to));
  }
  if (layers.empty())
    to.emplace_back("no layers", paint::dim);
}

void add_times(std::vector<text_line>& to, const opened_gate& gate) {
  for (const auto& x : list_in(gate.now, "durations")) {
    // Nothing that took time.
    if (number_in(x, "max_ns") == 0)
      continue;
    auto time = [&](const char* key) {
      return rounded_text(duration{number_in(x, key)});
    };
    text_line line{harmless(in_words(text_in(x, "what")), false), paint::plain};
    line.add(x.value("ok", true) ? " ok:" : " not ok:");
    line.add(fmt::format(" p50 {}  p90 {}  p99 {}  max {}", time("p50_ns"),
                         time("p90_ns"), time("p99_ns"), time("max_ns")));
    line.add(fmt::format("  ({})", number_in(x, "count")), paint::dim);
    to.push_back(std::move(line));
  }
}

// The time of day, without the date.
std::string clock_of(const std::string& time) {
  auto t = time.find('T');
  return t == time.npos ? time : time.substr(t + 1, 12);
}

void add_events(std::vector<text_line>& to, const top_model& model,
                const std::string& stack, bool utf8) {
  to.emplace_back("events (UTC)", paint::dim);
  const auto& events = model.events_of(stack);
  for (auto i = events.rbegin(); i != events.rend(); ++i) {
    text_line line{harmless(clock_of(i->time), utf8), paint::dim};
    line.add("  ");
    line.add(harmless(i->text, utf8));
    if (i->count > 1)
      line.add(fmt::format("  {} times", i->count), paint::dim);
    to.push_back(std::move(line));
  }
  if (events.empty())
    to.emplace_back("none since caisson top was started", paint::dim);
}

void add_summary(std::vector<text_line>& to, const gate_facts& gate,
                 std::size_t columns, const terminal_look& look,
                 time_point now) {
  const auto& history = gate.history;
  text_line rates;
  rates.add(short_number(history.calls_per_second()), paint::bold);
  rates.add(" calls/s  ");
  auto share = history.success();
  rates.add(percent_of(share),
            share.value_or(1) < 1 ? paint::strained : paint::bold);
  rates.add(" % ok  ");
  rates.add(
    fmt::format("in flight {}  waiting {}  ", gate.in_flight, gate.waiting));
  rates.add(short_number(gate.rejected),
            gate.rejected.value_or(0) > 0 ? paint::strained : paint::bold);
  rates.add(" rejected/s");
  if (!gate.main_reason.empty())
    rates.add(
      fmt::format(", mostly {}", harmless(gate.main_reason, look.utf8)));
  to.push_back(std::move(rates));
  auto width = std::min(columns, call_history::steps);
  text_line bars;
  add_bars(bars, history, width, look, now);
  bars.add(fmt::format("  calls, last {}",
                       rounded_text(call_history::step
                                    * static_cast<std::int64_t>(width))),
           paint::dim);
  to.push_back(std::move(bars));
}

} // namespace

std::vector<text_line> gate_lines(const top_model& model, std::size_t columns,
                                  const terminal_look& look,
                                  const screen_notes& notes) {
  const auto& gate = model.opened();
  const auto* facts = model.find(gate.name);
  std::vector<text_line> out;
  text_line title{harmless(gate.name, look.utf8), paint::bold};
  if (facts) {
    title.add("  ");
    title.add(harmless(facts->condition, look.utf8), paint_of(facts->how));
    if (!facts->worker.empty())
      title.add("  worker " + harmless(in_words(facts->worker), look.utf8),
                paint::dim);
  } else {
    title.add("  this gate is gone", paint::bad);
  }
  out.push_back(std::move(title));
  if (facts)
    add_summary(out, *facts, columns, look, notes.now);
  auto error = facts && !facts->error.empty() ? facts->error : gate.error;
  if (!error.empty())
    out.emplace_back(harmless(error, look.utf8), paint::bad);
  out.emplace_back();
  if (gate.now.is_null()) {
    out.emplace_back("waiting for its layers", paint::dim);
  } else {
    auto seconds = gate.before.is_null()
                     ? 0
                     : seconds_between(gate.before_at, gate.now_at);
    add_layers(out, gate, seconds, columns, look.utf8);
    out.emplace_back();
    add_times(out, gate);
  }
  out.emplace_back();
  add_events(out, model, facts ? facts->stack : text_in(gate.now, "stack"),
             look.utf8);
  return out;
}

} // namespace caisson::ctl
