#include <ctl/session.hpp>

#include <ctl/views.hpp>

#include <sim/command/cli_parts.hpp>

#include <caisson/detail/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <set>
#include <utility>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

duration time_in(const std::string& option, const std::string& text,
                 duration least) {
  auto out = parse_duration(text);
  if (!out || *out < least || *out > std::chrono::hours(1))
    throw CLI::ValidationError{
      option, fmt::format("{} is not a time from {} to 1h",
                          detail::quoted(text), to_text(least))};
  return *out;
}

std::string file_of(const arguments& args) {
  if (!args.file.empty())
    return args.file;
  auto* x = std::getenv("CAISSON_CONTROL");
  if (!x || *x == 0)
    throw ctl_error{"which program? Give its control file with --file, or in "
                    "the environment variable CAISSON_CONTROL"};
  return x;
}

} // namespace

session::session(const arguments& args, std::ostream& out,
                 const ctl_parts& parts)
  : args_(args), out_(out), parts_(parts), to_(file_of(args)) {}

void session::list() {
  repeat([&](const json&) {
    auto answer = to_.get("/v1/gates");
    print(answer, [&] { return list_view(answer); });
    return answer;
  });
}

void session::show() {
  repeat([&](const json& before) {
    auto answer = to_.get(target());
    print(answer, [&] {
      return args_.settings ? settings_view(answer, args_.layer)
                            : gate_view(answer, before, parts_.columns());
    });
    return answer;
  });
}

void session::carry_out(const std::string& word) {
  json body{{"command", word}, {"layer", args_.layer}};
  if (!args_.for_time.empty())
    body["for"] = args_.for_time;
  auto answer = to_.post(target("/command"), body);
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
    keys.insert(x.substr(0, equals));
    set[x.substr(0, equals)] = x.substr(equals + 1);
  }
  auto answer = to_.post(target("/settings"),
                         {{"layer", args_.layer}, {"set", std::move(set)}});
  print(answer, [&] { return settings_view(answer, args_.layer, keys); });
}

void session::drain() {
  auto wait = time_in("--wait", args_.wait, duration::zero());
  auto answer = to_.post(target("/drain"), {{"wait", args_.wait}}, wait);
  auto done = answer.value("drained", false);
  print(answer, [&] {
    return fmt::format("{}\n", done ? "drained: the last call is answered"
                                    : "it drains, but has calls left");
  });
  if (!done && !args_.json)
    out_ << "look again with: caisson ctl show "
         << detail::printable(args_.gate) << '\n';
}

void session::reload() {
  auto answer = to_.post("/v1/reload", {{"why", args_.why}},
                         std::chrono::minutes(2));
  print(answer, [&] { return reload_view(answer); });
  std::string problems;
  for (const auto& file : answer["files"])
    for (const auto& x : file["problems"])
      problems += (problems.empty() ? "" : "\n") + x.get<std::string>();
  if (!problems.empty())
    throw ctl_error{problems};
}

void session::events() {
  constexpr auto wait = std::chrono::seconds(10);
  auto left = count();
  auto cursor = to_.get("/v1/events").at("cursor").get<std::string>();
  if (parts_.terminal && !args_.json)
    out_ << "events from now on; Ctrl-C ends this\n" << std::flush;
  while (!left || *left > 0) {
    auto answer = to_.get(
      fmt::format("/v1/events?after={}&wait={}", cursor, to_text(wait)), wait);
    cursor = answer.at("cursor").get<std::string>();
    note_missed(answer.at("missed"));
    for (const auto& x : answer.at("events"))
      if ((!left || *left > 0) && print_event(x) && left)
        --*left;
    out_ << std::flush;
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
    out_ << std::flush;
    parts_.sleep(every);
  }
}

void session::note_missed(const json& missed) {
  if (missed == 0 || args_.json)
    return;
  if (missed.is_number())
    out_ << "-- " << missed.get<std::uint64_t>() << " events were missed\n";
  else
    out_ << "-- events may have been missed\n";
}

// Whether it is one of those that are wanted.
bool session::print_event(const json& x) {
  const auto& event = x.at("event");
  auto is_one_of = [&](const std::vector<std::string>& all, const char* key) {
    return all.empty()
           || std::ranges::find(all, event.value(key, "")) != all.end();
  };
  if (!is_one_of(args_.gates, "gate") || !is_one_of(args_.kinds, "kind"))
    return false;
  if (args_.json)
    out_ << event.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  else
    out_ << event.value("time", "") << ' '
         << detail::printable(x.value("text", "")) << '\n';
  return true;
}

} // namespace caisson::ctl
