// Calls a server by HTTPS: what a worker trusts, and what it refuses before it
// sends anything.
#include "certificates.hpp"
#include "story.hpp"

#include <caisson/adapters/http_client/client.hpp>
#include <caisson/gate.hpp>

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A shop's server, which only customers with a certificate can talk to.
class shop {
public:
  explicit shop(const demo::scratch_directory& files)
    : server_(files.file("127.0.0.1.pem").c_str(),
              files.file("127.0.0.1.key").c_str(),
              files.file("authority.pem").c_str()) {
    // It ends only when idle connections have.
    server_.set_keep_alive_timeout(1);
    server_.Get("/items/7",
                [this](const httplib::Request&, httplib::Response& out) {
                  ++served;
                  out.set_content("a teapot", "text/plain");
                });
    server_.Get("/old", [](const httplib::Request&, httplib::Response& out) {
      out.set_redirect("/items/7");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running())
      std::this_thread::yield();
  }

  ~shop() {
    server_.stop();
    thread_.join();
  }

  shop(const shop&) = delete;
  shop& operator=(const shop&) = delete;

  [[nodiscard]] std::string url() const {
    return "https://127.0.0.1:" + std::to_string(port_);
  }

  std::atomic<int> served{0};

private:
  httplib::SSLServer server_;
  int port_ = 0;
  std::thread thread_;
};

std::string get(caf::actor_system& sys, const caisson::http_client_config& c,
                const std::string& target) {
  auto gate = caisson::spawn_gate(
    sys, caisson::http_worker(c),
    caisson::stack{"shop"}.deadline({.timeout = 5s}).retrier().breaker());
  std::string response;
  caf::scoped_actor self{sys};
  self->request(gate, 20s, caisson::as_call({.target = target}))
    .receive(
      [&](const caisson::http_response& x) {
        response = std::to_string(x.status);
        if (!x.body.empty())
          response += ' ' + x.body;
      },
      [&](const caf::error& err) {
        // After that it says what to do, and what libcurl says.
        auto text = caisson::transport_text_of(err);
        response = text.substr(0, text.find(':'));
      });
  caisson::stop_gate(gate);
  return response;
}

} // namespace

int main() {
  demo::story story;
  demo::scratch_directory files;
  demo::make_authority(files);
  demo::make_authority(files, "stranger");
  demo::make_certificate(files, "127.0.0.1");
  demo::make_certificate(files, "customer");
  caisson::init_http_types();
  caisson::system_config config;
  caisson::register_http_types(config);
  caf::actor_system system{config};
  {
    shop server{files};
    // [config]
    caisson::http_client_config c{
      .url = server.url(),
      .ca_file = files.file("authority.pem"),
      .client_certificate = files.file("customer.pem"),
      .client_key = files.file("customer.key")};
    // [/config]
    auto ask = [&](const char* what, const std::string& target) {
      server.served = 0;
      auto response = get(system, c, target);
      story.print("{}: {}", what, response);
      return response;
    };
    story.check(ask("its authority is known", "/items/7") == "200 a teapot",
                "all is well");
    story.check(ask("it has moved", "/old").substr(0, 3) == "302",
                "redirections are answers");
    c.redirects = 1;
    story.check(ask("and one may follow", "/old") == "200 a teapot",
                "it was followed");
    c.ca_file = files.file("stranger.pem");
    ask("another authority is trusted", "/items/7");
    story.check(server.served == 0, "nothing was sent");
  }
  return story.end();
}

/* It prints:

its authority is known: 200 a teapot
it has moved: 302
and one may follow: 200 a teapot
another authority is trusted: the server's certificate was refused
*/
