#include <caisson/observe/control/server.hpp>

#include <caisson/adapters/http/server.hpp>
#include <caisson/observe/control/control_file.hpp>
#include <caisson/observe/control/detail/control_access.hpp>
#include <caisson/observe/control/detail/control_operations.hpp>
#include <caisson/observe/control/detail/control_page.hpp>
#include <caisson/observe/control/detail/control_routes.hpp>
#include <caisson/settings/settings.hpp>

#include <unistd.h>

#include <string>
#include <utility>

namespace caisson {

namespace {

/// Those who follow events or wait for drained gates have a thread most of the
/// time. All clients have the same address.
constexpr detail::http_server_limits limits{.threads = 64,
                                            .max_waiting = 64,
                                            .max_connections = 512,
                                            .max_per_peer = 512,
                                            .max_body = 1 << 16};

// Not to be set: this is not for other machines.
constexpr auto here = "127.0.0.1";

} // namespace

struct control_server::parts {
  parts(caf::actor_system& sys, const control_config& c)
    : token(detail::new_token()), access(token),
      operations(sys, c.patience, c.events),
      server(here, c.port, limits,
             {.serve =
                [this](const http_request& x, time_point) {
                  return detail::answer_operator(operations, x, access);
                }}),
      file(c.file, {server.port(), token, ::getpid(), c.patience}) {}

  ~parts() { operations.close(); }

  const std::string token;
  detail::control_access access;
  detail::control_operations operations;
  detail::http_server server;
  /// Goes first: nobody finds a server that ends.
  detail::control_file file;
};

control_server::control_server(caf::actor_system& sys, control_config c) {
  require_valid(c);
  parts_ = std::make_unique<parts>(sys, c);
}

control_server::~control_server() = default;

void control_server::add(std::string name, control_handle gate) {
  constexpr std::size_t longest = 1024;
  problems found;
  if (name.empty() || name.size() > longest)
    found.push_back(
      {problem_kind::range, "name", "is not 1 to 1024 bytes long"});
  if (!gate)
    found.push_back({problem_kind::missing, "gate", "is a null handle"});
  if (found.empty() && !parts_->operations.gates().add(name, std::move(gate)))
    found.push_back({problem_kind::relation, "name",
                     "another gate has this name already", name});
  if (!found.empty())
    throw config_error{std::move(found)};
}

void control_server::add(controlled_gates gates) {
  if (!gates.names || !gates.find)
    throw config_error{{{problem_kind::missing, "gates",
                         "both functions are needed: names and find"}}};
  parts_->operations.gates().add(std::move(gates));
}

std::uint16_t control_server::port() const noexcept {
  return parts_->server.port();
}

std::string control_server::page_link() {
  return "http://" + std::string{here} + ':' + std::to_string(port())
         + detail::page_target(parts_->access);
}

void describe(field_visitor& v, control_config& c) {
  using namespace std::chrono_literals;
  v.on({"file", "where the address and the token are written, for the owner "
                "only"},
       c.file);
  v.integer({"port", "where to listen, at 127.0.0.1; 0: any free port"}, c.port,
            {std::uint16_t{0}, std::uint16_t{65'535}});
  v.on({"patience", "how long a gate may take to answer"}, c.patience,
       {10ms, 1min});
  v.integer({"events", "how many events are kept for those who follow them"},
            c.events, {1, 1'000'000});
}

void check(const control_config& c, const setting_path& path, problems& out) {
  if (c.file.empty())
    out.push_back(
      {problem_kind::missing, path / "file", "no control file is given"});
}

} // namespace caisson
