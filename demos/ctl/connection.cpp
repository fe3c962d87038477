#include <ctl/connection.hpp>

#include <caisson/adapters/interruption.hpp>
#include <caisson/observe/control/control_file.hpp>
#include <caisson/settings/settings_text.hpp>
#include <ctl/exchange.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

constexpr std::chrono::seconds connect_time{5};

/// How long the program may take for a whole answer, besides what it waits for.
constexpr std::chrono::seconds answer_time{10};

/// What has the program's port may be another program by now: what it answers
/// must not take all memory, nor all of the stack when it is printed.
constexpr std::size_t most_bytes = 64'000'000;
constexpr int most_depth = 64;

bool runs(std::int64_t process) {
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}

// What of a request is, if the program answers with that status; otherwise
// empty. Such an answer has no JSON.
std::string_view too_large(int status) {
  switch (status) {
    case 413:
      return "what is sent, such as the settings or the reason,";
    case 414:
      return "the name of the gate";
    case 431:
      return "the name of the gate, together with the token,";
    default:
      return {};
  }
}

detail::control_address address_in(const std::string& file) {
  try {
    return detail::read_control_file(file);
  } catch (const std::runtime_error& e) {
    throw ctl_error{e.what()};
  }
}

} // namespace

struct connection::parts {
  explicit parts(std::string path)
    : file(std::move(path)), address(address_in(file)) {}

  [[noreturn]] void fail_without_answer() const {
    if (!runs(address.process))
      throw ctl_error{fmt::format("process {}, which wrote {}, has ended",
                                  address.process, file)};
    auto connected = exchange.why() != http_stream::failure::not_connected;
    throw ctl_error{fmt::format(
      "process {}, which wrote {}, {} at 127.0.0.1:{}", address.process, file,
      connected ? "does not answer" : "does not listen", address.port)};
  }

  [[noreturn]] void fail_as_other() const {
    throw ctl_error{fmt::format(
      "what listens at 127.0.0.1:{} does not answer like a program with gates",
      address.port)};
  }

  [[nodiscard]] std::string head_of(std::string_view method,
                                    const std::string& target) const {
    return fmt::format("{} {} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n"
                       "authorization: Bearer {}\r\n",
                       method, target, address.port, address.token);
  }

  /// Sends it, and waits for the whole answer until the time is over.
  json ask(const std::string& request, duration patience) {
    signal.begin(++number);
    auto until = time_after(std::chrono::steady_clock::now(), answer_time);
    until = time_after(time_after(until, patience), address.patience);
    auto done = exchange.run("127.0.0.1", address.port, connect_time, until,
                             request, {});
    if (exchange.is_garbled())
      fail_as_other();
    if (!done)
      fail_without_answer();
    return answer();
  }

  json answer() {
    auto status = exchange.response().status();
    auto deep = false;
    auto body = json::parse(
      exchange.response().body(),
      [&](int depth, json::parse_event_t, json&) {
        deep = deep || depth > most_depth;
        return !deep;
      },
      false);
    if (status == 503)
      throw ctl_error{fmt::format(
        "process {} has too many open requests; try again", address.process)};
    if (status == 401)
      throw ctl_error{
        fmt::format("the program at 127.0.0.1:{} does not accept "
                    "the token in {}: it is an older file, or that of another "
                    "program; name the one that this program wrote",
                    address.port, file)};
    if (auto what = too_large(status); !what.empty())
      throw ctl_error{fmt::format("{} is too large for the program", what)};
    if (deep || !body.is_object())
      fail_as_other();
    if (status != 200)
      throw ctl_error{body.value(
        "error", fmt::format("the program answers with status {}", status))};
    return body;
  }

  std::string file;
  detail::control_address address;
  interruption signal;
  std::uint64_t number = 0;
  http_exchange exchange{signal, {.body = most_bytes}};
};

connection::connection(const std::string& file)
  : parts_(std::make_unique<parts>(file)) {}

std::string connection::address() const {
  return fmt::format("127.0.0.1:{}", parts_->address.port);
}

connection::~connection() = default;

void connection::interrupt() noexcept {
  parts_->signal.interrupt(std::numeric_limits<std::uint64_t>::max());
}

json connection::get(const std::string& target, duration patience) {
  return parts_->ask(parts_->head_of("GET", target) + "\r\n", patience);
}

json connection::post(const std::string& target, const json& body,
                      duration patience) {
  auto text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return parts_->ask(parts_->head_of("POST", target)
                       + fmt::format("content-type: application/json\r\n"
                                     "content-length: {}\r\n\r\n",
                                     text.size())
                       + text,
                     patience);
}

std::string encoded(std::string_view text) {
  std::string out;
  for (unsigned char c : text)
    if (c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_'))
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  return out;
}

} // namespace caisson::ctl
