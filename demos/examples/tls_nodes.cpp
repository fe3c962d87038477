// Publishes a gate by TLS: nodes with a certificate call it, others do not.
#include "certificates.hpp"
#include "process.hpp"
#include "story.hpp"

#include <caisson/caf/caf_io.hpp>
#include <caisson/gate.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;

caf::behavior doubler() {
  return {
    [](std::int32_t x) { return 2 * x; },
  };
}

caisson::tls_files files_in(const std::string& directory,
                            const std::string& name) {
  return {.certificate = directory + "/" + name + ".pem",
          .key = directory + "/" + name + ".key",
          .authority = directory + "/authority.pem"};
}

// -- the server's process -----------------------------------------------------

int serve(const std::string& directory) {
  // [tls-server]
  caisson::tls_network_config config{files_in(directory, "server")};
  caf::actor_system system{config};
  auto gate = caisson::spawn_gate(system, system.spawn(doubler),
                                  caisson::stack{"server"}.semaphore());
  auto port = caisson::portable::publish_tls(system, gate);
  // [/tls-server]
  fmt::print("{}\n", port ? *port : 0);
  std::fflush(stdout);
  // Until the process that started this one closes the pipe, or ends.
  while (std::getchar() != EOF)
    continue;
  caisson::stop_gate(gate);
  return port ? 0 : 1;
}

// -- the clients --------------------------------------------------------------

std::string ask(caf::actor_system& system, const caf::actor& target) {
  std::string response;
  caf::scoped_actor self{system};
  self->request(target, 20s, std::int32_t{21})
    .receive([&](std::int32_t x) { response = std::to_string(x); },
             [&](caf::error& err) { response = demo::text_of(err); });
  return response;
}

std::string with_certificate(const std::string& directory,
                             const std::string& name, std::uint16_t port) {
  // [tls-client]
  caisson::tls_network_config config{files_in(directory, name)};
  caf::actor_system system{config};
  auto gate = caisson::portable::connect_tls(system, "127.0.0.1", port);
  // [/tls-client]
  return gate ? ask(system, *gate) : "no connection";
}

std::string in_plain_text(std::uint16_t port) {
  caisson::network_config config;
  caf::actor_system system{config};
  auto gate = caisson::portable::connect(system, "127.0.0.1", port);
  return gate ? ask(system, *gate) : "no connection";
}

// -- the plot -----------------------------------------------------------------

int main(int argc, char** argv) {
  // Whatever goes wrong, it ends.
  alarm(60);
  if (argc == 3 && std::string{argv[1]} == "server")
    return serve(argv[2]);

  demo::scratch_directory files;
  demo::make_authority(files);
  demo::make_certificate(files, "server");
  demo::make_certificate(files, "client");
  demo::make_authority(files, "other_authority");
  demo::make_certificate(files, "stranger", "other_authority");

  demo::process server{"server", files.name()};
  auto port = static_cast<std::uint16_t>(std::stoi(server.read_line()));
  demo::story story;
  auto good = with_certificate(files.name(), "client", port);
  story.print("with a certificate of the authority: {}", good);
  auto bad = with_certificate(files.name(), "stranger", port);
  story.print("with a certificate of another one: {}", bad);
  auto plain = in_plain_text(port);
  story.print("without any, in plain text: {}", plain);

  story.check(good == "42", "who has a certificate is answered");
  story.check(bad == "no connection" && plain == bad,
              "who has none reaches nothing");
  return story.end();
}

/* It prints:

with a certificate of the authority: 42
with a certificate of another one: no connection
without any, in plain text: no connection
*/
