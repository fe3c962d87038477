#include <ctl/session.hpp>

#include <ctl/options.hpp>
#include <ctl/views.hpp>

#include <simulator/command/cli_parts.hpp>

#include <caisson/settings/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <utility>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

// `open` of `open.base`: parts of a setting are listed with it or alone.
std::string first_part(const std::string& key) {
  return key.substr(0, key.find('.'));
}

} // namespace

session::session(const arguments& args, std::ostream& out, std::ostream& err,
                 const ctl_parts& parts)
  : args_(args), out_(out), err_(err), parts_(parts),
    to_(control_file_of(args.file)) {}

void session::list() {
  repeat([&](const json&) {
    auto answer = to_.get("/v1/gates");
    print(answer, [&] { return list_view(answer); });
    return answer;
  });
}

void session::show() {
  time_point last{};
  repeat([&](const json& before) {
    auto answer = to_.get(target());
    auto now = parts_.now();
    auto elapsed = before.is_null() ? duration::zero() : now - last;
    last = now;
    require_gate(answer);
    print(answer, [&] {
      require_layer(answer);
      return args_.settings
               ? settings_view(answer, args_.layer)
               : gate_view(answer, before, parts_.columns(), elapsed);
    });
    return answer;
  });
}

void session::carry_out(const std::string& word) {
  json body{{"command", word}, {"layer", args_.layer}};
  if (!args_.for_time.empty()) {
    static_cast<void>(
      time_in("--for", args_.for_time, std::chrono::nanoseconds(1), unlimited));
    body["for"] = args_.for_time;
  }
  auto answer = to_.post(target("/command"), body);
  require_gate(answer);
  print(answer, [&] { return states_view(answer, args_.layer); });
}

void session::set() {
  json set = json::object();
  std::set<std::string> keys;
  for (const auto& x : args_.set) {
    auto equals = x.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw ctl_error{
        fmt::format("{} is not of the form SETTING=VALUE", detail::quoted(x))};
    if (!keys.insert(x.substr(0, equals)).second)
      throw ctl_error{
        fmt::format("{} is given twice", detail::quoted(x.substr(0, equals)))};
    set[x.substr(0, equals)] = x.substr(equals + 1);
  }
  auto layer = args_.layer.empty() ? layer_with(keys) : args_.layer;
  auto answer = to_.post(target("/settings"),
                         {{"layer", layer}, {"set", std::move(set)}});
  require_gate(answer);
  print(answer, [&] { return settings_view(answer, layer, keys); });
}

// The only layer that has all these settings. Empty if the gate has one layer,
// which can say better than this what is wrong with a setting.
std::string session::layer_with(const std::set<std::string>& keys) {
  const auto gate = to_.get(target());
  const auto& layers = gate.at("layers");
  if (layers.size() < 2)
    return {};
  std::vector<std::string> all;
  std::vector<std::string> fit;
  std::vector<std::string> known;
  for (const auto& x : layers) {
    std::set<std::string> own;
    for (const auto& [key, value] : x.at("settings").items())
      own.insert(first_part(key));
    all.push_back(x.at("name").get<std::string>());
    if (std::ranges::all_of(
          keys, [&](auto& k) { return own.contains(first_part(k)); }))
      fit.push_back(all.back());
    known.insert(known.end(), own.begin(), own.end());
  }
  if (fit.size() == 1)
    return fit.front();
  if (!fit.empty())
    throw ctl_error{fmt::format("several layers of {} have that setting: say "
                                "which with --layer; {}",
                                args_.gate, detail::listed_names(fit))};
  for (const auto& k : keys)
    if (std::ranges::find(known, first_part(k)) == known.end())
      throw ctl_error{fmt::format(
        "no layer of {} has a setting {}{} --layer names the layer: {}",
        args_.gate, detail::quoted(k), detail::hint(detail::nearest(k, known)),
        detail::listed_names(all))};
  throw ctl_error{fmt::format("no layer of {} has all these settings: change "
                              "one layer at a time",
                              args_.gate)};
}

void session::drain() {
  // A request holds a place of the program's, also if this command has ended.
  constexpr duration step = std::chrono::seconds(2);
  const auto wait = time_in("--wait", args_.wait, duration::zero());
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    auto left = std::clamp<duration>(until - std::chrono::steady_clock::now(),
                                     duration::zero(), step);
    auto answer = to_.post(target("/drain"), {{"wait", to_text(left)}}, left);
    require_gate(answer);
    auto done = answer.at("drained").get<bool>();
    if (!done && left == step)
      continue;
    if (done || args_.json)
      print(answer, [] { return "drained: the last call is answered\n"; });
    if (!done)
      throw ctl_error{fmt::format("{} takes no more calls, but has not "
                                  "finished those it has within {}",
                                  args_.gate, rounded_text(wait))};
    return;
  }
}

void session::reload() {
  auto answer = to_.post("/v1/reload", {{"why", args_.why}},
                         std::chrono::minutes(2));
  print(answer, [&] { return reload_view(answer); });
  std::string problems;
  for (const auto& file : answer.at("files"))
    for (const auto& x : file.at("problems"))
      problems += (problems.empty() ? "" : "\n") + x.get<std::string>();
  if (!problems.empty())
    throw ctl_error{problems};
}

void session::page() {
  auto answer = to_.post("/v1/page", json::object());
  auto link = "http://" + to_.address()
              + answer.at("target").get_ref<const std::string&>();
  print(json{{"link", link}}, [&] {
    // Apart from the link, which others may read.
    err_ << "opens once, within five minutes, in a browser on this machine:\n"
         << std::flush;
    return link + '\n';
  });
}

void session::events() {
  constexpr auto wait = std::chrono::seconds(5);
  constexpr auto shortest_wait = std::chrono::milliseconds(200);
  auto left = count();
  const auto layers = stacks();
  auto cursor = to_.get("/v1/events").at("cursor").get<std::string>();
  if (parts_.terminal && !args_.json)
    out_ << "events from now on; Ctrl-C ends this\n" << std::flush;
  while (!left || *left > 0) {
    const auto asked = std::chrono::steady_clock::now();
    auto answer = to_.get(fmt::format("/v1/events?after={}&wait={}",
                                      encoded(cursor), to_text(wait)),
                          wait);
    cursor = answer.at("cursor").get<std::string>();
    note_missed(answer.at("missed"));
    for (const auto& x : answer.at("events"))
      if ((!left || *left > 0) && print_event(x, layers) && left)
        --*left;
    flush();
    // One that has nothing to report, and does not wait, is not polled all the
    // time.
    if (answer.at("events").empty()
        && std::chrono::steady_clock::now() - asked < shortest_wait)
      parts_.sleep(shortest_wait);
  }
}

std::string session::target(const std::string& what) const {
  return "/v1/gates/" + encoded(args_.gate) + what;
}

std::optional<std::uint64_t> session::count() const {
  if (args_.count.empty())
    return std::nullopt;
  return sim::number_in<std::uint64_t>("--count", args_.count, 1,
                                       1'000'000'000);
}

void session::print(const json& answer,
                    const std::function<std::string()>& view) {
  if (args_.json)
    out_ << answer.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  else
    out_ << view();
}

// Draws it again and again if that is wanted.
void session::repeat(const std::function<json(const json& before)>& draw) {
  auto every = args_.every.empty() ? duration{std::chrono::seconds(1)}
                                   : time_in("--every", args_.every,
                                             std::chrono::milliseconds(100));
  auto left = count();
  auto again = args_.watch || left || !args_.every.empty();
  const auto clears = again && parts_.terminal && !args_.json;
  json before;
  for (;;) {
    if (clears)
      out_ << "\x1b[H\x1b[J";
    before = draw(before);
    if (!again || (left && --*left == 0))
      return;
    if (!clears && !args_.json)
      out_ << '\n';
    flush();
    parts_.sleep(every);
  }
}

void session::require_layer(const json& gate) const {
  std::vector<std::string> known;
  for (const auto& x : gate.at("layers"))
    known.push_back(x.at("name").get<std::string>());
  if (!args_.layer.empty()
      && std::ranges::find(known, args_.layer) == known.end())
    throw ctl_error{fmt::format("{} has no layer {}; it has: {}", args_.gate,
                                detail::quoted(args_.layer),
                                detail::listed_names(known))};
}

// An answer about another gate says nothing about this one.
void session::require_gate(const json& answer) const {
  const auto& name = answer.at("name").get_ref<const std::string&>();
  if (name != args_.gate)
    throw ctl_error{fmt::format("the program answers about {} instead of {}",
                                detail::quoted(name),
                                detail::quoted(args_.gate))};
}

// What gates call themselves in events.
std::vector<std::string> session::stacks() {
  std::vector<std::string> out;
  for (const auto& gate : args_.gates)
    out.push_back(
      to_.get("/v1/gates/" + encoded(gate)).at("stack").get<std::string>());
  return out;
}

// Not among what a program reads.
void session::note_missed(const json& missed) {
  if (missed.is_null())
    err_ << "-- events may have been missed\n" << std::flush;
  else if (missed != 0)
    err_ << "-- " << missed.get<std::uint64_t>() << " events were missed\n"
         << std::flush;
}

// Otherwise what goes on for ever would, though nobody can read it.
void session::flush() {
  if (!(out_ << std::flush))
    throw ctl_error{"standard output cannot be written"};
}

// Whether it is one of those that are wanted.
bool session::print_event(const json& x,
                          const std::vector<std::string>& stacks) {
  const auto& event = x.at("event");
  auto is_one_of = [&](const std::vector<std::string>& all, const char* key) {
    return all.empty()
           || std::ranges::find(all, event.value(key, "")) != all.end();
  };
  if (!is_one_of(stacks, "gate") || !is_one_of(args_.kinds, "kind"))
    return false;
  if (args_.json)
    out_ << event.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  else
    out_ << detail::printable(event.value("time", "")) << ' '
         << detail::printable(x.value("text", "")) << '\n';
  return true;
}

} // namespace caisson::ctl
