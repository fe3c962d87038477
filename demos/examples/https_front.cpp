// A front that speaks HTTPS: who may come in, who may not, and new certificates
// while it runs.
#include "certificates.hpp"
#include "http_get.hpp"
#include "story.hpp"

#include <caisson/adapters/http/front.hpp>
#include <caisson/adapters/http_client/client.hpp>
#include <caisson/gate.hpp>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

caf::behavior shop() {
  return {
    [](const caisson::http_request&) {
      return caisson::http_response{.body = "a teapot"};
    },
  };
}

/// What a client with these settings gets.
std::string get(caf::actor_system& sys, const caisson::http_client_config& c) {
  std::string out;
  auto client = caisson::spawn_http_worker(sys, c);
  caf::scoped_actor self{sys};
  self->request(client, 10s, caisson::http_request{.target = "/items/7"})
    .receive(
      [&](const caisson::http_response& x) {
        out = fmt::format("{} {}", x.status, x.body);
      },
      // Which one depends on when it was noticed.
      [&](const caf::error&) { out = "no connection"; });
  caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
  return out;
}

void replace(const demo::scratch_directory& files, const std::string& owner) {
  for (const auto* end : {".pem", ".key"})
    std::filesystem::copy_file(
      files.file(owner + end), files.file(std::string{"front"} + end),
      std::filesystem::copy_options::overwrite_existing);
}

} // namespace

int main() {
  demo::story story;
  demo::scratch_directory files;
  demo::make_authority(files);
  demo::make_authority(files, "new-authority");
  for (const auto* name : {"127.0.0.1", "customer"})
    demo::make_certificate(files, name);
  replace(files, "127.0.0.1");
  caisson::init_http_types();
  caisson::system_config config;
  caisson::register_http_types(config);
  caf::actor_system system{config};
  {
    auto gate = caisson::spawn_gate(system, system.spawn(shop),
                                    caisson::stack{"shop"});
    // [front]
    caisson::http_front front{system,
                              gate,
                              {.certificate = files.file("front.pem"),
                               .key = files.file("front.key"),
                               .client_ca_file = files.file("authority.pem")}};
    // [/front]
    caisson::http_client_config customer{
      .url = fmt::format("https://127.0.0.1:{}", front.port()),
      .ca_file = files.file("authority.pem"),
      .client_certificate = files.file("customer.pem"),
      .client_key = files.file("customer.key")};
    auto stranger = customer;
    stranger.client_certificate.clear();
    stranger.client_key.clear();
    story.print("a customer: {}", get(system, customer));
    story.print("without a certificate: {}", get(system, stranger));
    auto plain = demo::http_get(front.port(), "/items/7");
    story.print("plain HTTP: {}", plain.substr(9, plain.find('\r') - 9));

    // Those of the new authority's, which the customer does not know yet.
    replace(files, "new-authority");
    auto now = get(system, customer);
    for (int i = 0; i < 100 && now != "no connection"; ++i) {
      std::this_thread::sleep_for(50ms);
      now = get(system, customer);
    }
    story.print("other files, and the customer trusts the old ones: {}", now);
    replace(files, "127.0.0.1");
    for (int i = 0; i < 100 && now == "no connection"; ++i) {
      std::this_thread::sleep_for(50ms);
      now = get(system, customer);
    }
    story.print("the earlier files are back: {}", now);
    story.check(front.tls_problem().empty(), "all files could be used");
    caisson::stop_gate(gate);
  }
  return story.end();
}

/* It prints:

a customer: 200 a teapot
without a certificate: no connection
plain HTTP: 400 Bad Request
other files, and the customer trusts the old ones: no connection
the earlier files are back: 200 a teapot
*/
