#include <ctl/connection.hpp>

#include <caisson/control/detail/control_file.hpp>
#include <caisson/detail/settings_text.hpp>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <utility>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

/// How long the program may take to answer, besides what it waits for.
constexpr std::chrono::seconds answer_time{10};

bool runs(std::int64_t process) {
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
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
    : file(std::move(path)), address(address_in(file)),
      client("127.0.0.1", address.port) {
    client.set_connection_timeout(std::chrono::seconds(5));
    client.set_keep_alive(true);
  }

  [[nodiscard]] httplib::Headers headers() const {
    return {{"Authorization", "Bearer " + address.token}};
  }

  void wait_for(duration patience) {
    client.set_read_timeout(
      answer_time
      + std::chrono::ceil<std::chrono::seconds>(patience + address.patience));
  }

  [[noreturn]] void fail_without_answer(httplib::Error why) const {
    if (!runs(address.process))
      throw ctl_error{fmt::format("process {}, which has written {}, has ended",
                                  address.process, file)};
    auto waited = why == httplib::Error::Read;
    throw ctl_error{fmt::format(
      "process {}, which has written {}, {} at 127.0.0.1:{}", address.process,
      file, waited ? "does not answer" : "does not listen", address.port)};
  }

  json answer(const httplib::Result& x) const {
    if (!x)
      fail_without_answer(x.error());
    auto body = json::parse(x->body, nullptr, false);
    if (x->status == 503)
      throw ctl_error{fmt::format("process {} is busy with as many requests as "
                                  "it takes; try again",
                                  address.process)};
    if (x->status == 401)
      throw ctl_error{fmt::format("the program at 127.0.0.1:{} does not accept "
                                  "the token in {}",
                                  address.port, file)};
    if (!body.is_object())
      throw ctl_error{fmt::format("what listens at 127.0.0.1:{} does not "
                                  "answer as a program with gates does",
                                  address.port)};
    if (x->status != 200)
      throw ctl_error{body.value(
        "error", fmt::format("the program answers with status {}", x->status))};
    return body;
  }

  std::string file;
  detail::control_address address;
  httplib::Client client;
};

connection::connection(const std::string& file)
  : parts_(std::make_unique<parts>(file)) {}

connection::~connection() = default;

json connection::get(const std::string& target, duration patience) {
  parts_->wait_for(patience);
  return parts_->answer(parts_->client.Get(target, parts_->headers()));
}

json connection::post(const std::string& target, const json& body,
                      duration patience) {
  parts_->wait_for(patience);
  auto text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return parts_->answer(
    parts_->client.Post(target, parts_->headers(), text, "application/json"));
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
