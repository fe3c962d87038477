#include <caisson/observe/control/detail/control_routes.hpp>

#include <caisson/observe/control/detail/control_page.hpp>
#include <caisson/observe/control/longest_time.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

using texts = std::vector<std::string>;

/// How long a request may wait for events or for a gate to drain: so long it
/// keeps a thread, also if nobody waits for its answer any more.
constexpr duration longest_wait = std::chrono::seconds(10);

http_response response(std::int32_t status, const json& x) {
  return {status, {{"content-type", "application/json"}}, text_of(x) + '\n'};
}

http_response failure(std::int32_t status, const std::string& why) {
  return response(status, {{"error", why}});
}

// -- where it goes ------------------------------------------------------------

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    auto digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    auto* end = digits.data() + digits.size();
    if (digits.size() != 2
        || std::from_chars(digits.data(), end, byte, 16).ptr != end)
      throw control_error{400, "a % in the path is not followed by two digits"};
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

/// The parts of a path.
texts parts_of(std::string_view path) {
  texts out;
  while (!path.empty()) {
    path.remove_prefix(1); // A slash.
    auto end = std::min(path.find('/'), path.size());
    out.push_back(decoded(path.substr(0, end)));
    path.remove_prefix(end);
  }
  return out;
}

std::map<std::string, std::string> query_of(std::string_view text) {
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    auto end = std::min(text.find('&'), text.size());
    auto pair = text.substr(0, end);
    auto equals = std::min(pair.find('='), pair.size());
    auto key = decoded(pair.substr(0, equals));
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!out.emplace(key, std::move(value)).second)
      throw control_error{400, detail::quoted(key) + " is given twice"};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// -- what it says -------------------------------------------------------------

/// The first key that an object in the text has twice; the parser would keep
/// one of both.
class repeated_key {
public:
  bool operator()(int, json::parse_event_t event, json& x) {
    if (event == json::parse_event_t::object_start)
      open_.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open_.pop_back();
    else if (event == json::parse_event_t::key)
      check_key(x.get<std::string>());
    return true;
  }

  [[nodiscard]] const std::optional<std::string>& found() const {
    return found_;
  }

private:
  void check_key(std::string key) {
    if (!found_ && !open_.back().insert(key).second)
      found_ = std::move(key);
  }

  /// The keys of each object around.
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> found_;
};

json body_of(const http_request& x,
             std::initializer_list<std::string_view> known) {
  if (x.body.empty())
    return json::object();
  repeated_key repeated;
  auto out = json::parse(x.body, std::ref(repeated), false);
  if (!out.is_object())
    throw control_error{400, "the body is not a JSON object"};
  if (auto key = repeated.found())
    throw control_error{400, detail::quoted(*key) + " is given twice"};
  for (const auto& [key, value] : out.items())
    if (std::ranges::find(known, key) == known.end())
      throw control_error{400, fmt::format("{} is not known here: {}",
                                           detail::quoted(key),
                                           fmt::join(known, ", "))};
  return out;
}

std::string text_in(const json& x, const char* key,
                    const std::string& otherwise = {}) {
  auto i = x.find(key);
  if (i == x.end())
    return otherwise;
  if (!i->is_string())
    throw control_error{400, fmt::format("{} is not a string", key)};
  return i->get<std::string>();
}

duration time_in(const std::string& key, const std::string& text,
                 duration most) {
  auto out = parse_duration(text);
  if (!out || *out > most)
    throw control_error{400, fmt::format("{}: {} is not a time from 0s to {}",
                                         key, detail::quoted(text),
                                         detail::longest_time(most))};
  return *out;
}

command command_in(const http_request& x) {
  auto body = body_of(x, {"command", "layer", "for"});
  auto name = text_in(body, "command");
  auto what = operator_command_named(name);
  if (!what) {
    std::vector<std::string_view> known;
    for (std::uint8_t i = 0; i <= last_operator_command; ++i)
      known.push_back(name_of(static_cast<operator_command>(i)));
    throw control_error{400,
                        "command: " + not_one_of(detail::quoted(name), known)};
  }
  command out{*what, text_in(body, "layer")};
  if (body.contains("for"))
    out.for_time = time_in("for", text_in(body, "for"), unlimited);
  return out;
}

reconfigure change_in(const http_request& x) {
  auto body = body_of(x, {"layer", "set"});
  reconfigure out{text_in(body, "layer")};
  auto set = body.find("set");
  if (set == body.end() || !set->is_object() || set->empty())
    throw control_error{400, "set: must be an object with settings"};
  for (const auto& [key, value] : set->items()) {
    if (value.is_structured() || value.is_null())
      throw control_error{
        400, fmt::format("set: {} is not a string, a number, true or false",
                         detail::quoted(key))};
    out.set[key] = value.is_string() ? value.get<std::string>()
                                     : text_of(value);
  }
  return out;
}

// -- events -------------------------------------------------------------------

std::string text_of(const event_tail::position& x) {
  return fmt::format("{}-{}-{}", x.period, x.events, x.dropped);
}

std::optional<event_tail::position> position_in(std::string_view text) {
  event_tail::position out;
  auto* at = text.data();
  auto* end = at + text.size();
  for (auto* number : {&out.period, &out.events, &out.dropped}) {
    if (number != &out.period && (at == end || *at++ != '-'))
      return std::nullopt;
    auto [next, err] = std::from_chars(at, end, *number);
    if (err != std::errc{})
      return std::nullopt;
    at = next;
  }
  return at == end ? std::optional{out} : std::nullopt;
}

http_response events_of(control_operations& operations,
                        std::string_view query) {
  std::optional<event_tail::position> from;
  duration wait = duration::zero();
  for (const auto& [key, value] : query_of(query)) {
    if (key == "after") {
      from = position_in(value);
      if (!from)
        throw control_error{
          400, "after: is not a cursor of this program, start without one"};
    } else if (key == "wait") {
      wait = time_in(key, value, longest_wait);
    } else {
      throw control_error{400, detail::quoted(key)
                                 + " is not known here: after, wait"};
    }
  }
  auto got = operations.events(from, wait);
  auto out = response(200, {});
  // The lines are JSON already.
  out.body = fmt::format(R"({{"cursor":"{}","missed":{},"events":[{}]}})"
                         "\n",
                         text_of(got.next),
                         got.missed ? std::to_string(*got.missed) : "null",
                         fmt::join(got.lines, ","));
  return out;
}

// -- all ----------------------------------------------------------------------

void require_method(const http_request& x, std::string_view allowed) {
  if (x.method != allowed)
    throw control_error{405, fmt::format("the method is {} here", allowed)};
}

http_response answer_about(control_operations& operations,
                           const http_request& x, const std::string& gate,
                           const std::string& what) {
  if (what == "command") {
    require_method(x, "POST");
    return response(200, operations.carry_out(gate, command_in(x)));
  }
  if (what == "settings") {
    require_method(x, "POST");
    return response(200, operations.change(gate, change_in(x)));
  }
  if (what == "drain") {
    require_method(x, "POST");
    auto wait = text_in(body_of(x, {"wait"}), "wait", "0s");
    return response(
      200, operations.drain(gate, time_in("wait", wait, longest_wait)));
  }
  throw control_error{404, "unknown path"};
}

http_response answer_to(control_operations& operations, const http_request& x) {
  std::string_view target = x.target;
  auto mark = std::min(target.find('?'), target.size());
  auto query = target.substr(std::min(mark + 1, target.size()));
  auto path = parts_of(target.substr(0, mark));
  auto is = [&](std::string_view name, std::size_t parts) {
    return path.size() == parts && path[0] == "v1" && path[1] == name;
  };
  auto is_plain = [&](std::string_view name, std::size_t parts) {
    if (is(name, parts) && !query.empty())
      throw control_error{400, "no query is allowed here"};
    return is(name, parts);
  };
  if (is("events", 2)) {
    require_method(x, "GET");
    return events_of(operations, query);
  }
  if (is_plain("reload", 2)) {
    require_method(x, "POST");
    return response(
      200, operations.reload(text_in(body_of(x, {"why"}), "why", "operator")));
  }
  if (is_plain("gates", 2)) {
    require_method(x, "GET");
    return response(200, operations.list());
  }
  if (is_plain("gates", 3)) {
    require_method(x, "GET");
    return response(200, operations.show(path[2]));
  }
  if (is_plain("gates", 4))
    return answer_about(operations, x, path[2], path[3]);
  throw control_error{404, "unknown path"};
}

http_response open_session(const http_request& x, control_access& access) {
  auto session = access.open_session(text_in(body_of(x, {"ticket"}), "ticket"));
  if (!session)
    throw control_error{
      403,
      "the link has been used, is older than five minutes, or is incomplete"};
  return response(200, {{"session", *session}});
}

// What strangers may ask for.
http_response answer_stranger(const http_request& x, std::string_view path,
                              control_access& access) {
  if (path == "/v1/session" && x.method == "POST")
    return open_session(x, access);
  auto out = failure(401, "the token is missing or wrong");
  out.headers["www-authenticate"] = "Bearer";
  return out;
}

http_response answer_requester(control_operations& operations,
                               const http_request& x, control_access& access) {
  auto path = std::string_view{x.target}.substr(0, x.target.find('?'));
  if (path == "/" && x.method == "GET")
    return control_page();
  switch (access.requester_of(x)) {
    case requester::owner:
      // Only who has the token makes links: a session cannot prolong itself.
      if (path == "/v1/page" && x.method == "POST")
        return response(200, {{"target", page_target(access)}});
      return answer_to(operations, x);
    case requester::session:
      return answer_to(operations, x);
    case requester::stranger:
      break;
  }
  return answer_stranger(x, path, access);
}

http_response answer_or_failure(control_operations& operations,
                                const http_request& x, control_access& access) {
  try {
    return answer_requester(operations, x, access);
  } catch (const control_error& e) {
    return failure(e.status(), e.text());
  } catch (const std::exception& e) {
    return failure(500, e.what());
  } catch (...) {
    return failure(500, "internal error");
  }
}

} // namespace

http_response answer_operator(control_operations& operations,
                              const http_request& x, control_access& access) {
  auto out = answer_or_failure(operations, x, access);
  // No page of others reads or shows it, and no address is sent to others.
  out.headers["cache-control"] = "no-store";
  out.headers["cross-origin-resource-policy"] = "same-origin";
  out.headers["referrer-policy"] = "no-referrer";
  out.headers["x-content-type-options"] = "nosniff";
  return out;
}

} // namespace caisson::detail
