// A file says which HTTP server a gate's worker talks to, and is changed while
// requests are in progress: the earlier server finishes what it has.
#include "certificates.hpp"
#include "story.hpp"

#include <caisson/adapters/http_client/client.hpp>
#include <caisson/config/gate_set.hpp>

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace {

/// A server that says its name. `/slow` takes until `release`.
class named_server {
public:
  explicit named_server(std::string name) : name_(std::move(name)) {
    // It ends only when idle connections have.
    server_.set_keep_alive_timeout(1);
    server_.Get("/item",
                [this](const httplib::Request&, httplib::Response& out) {
                  out.set_content(name_, "text/plain");
                });
    server_.Get("/slow",
                [this](const httplib::Request&, httplib::Response& out) {
                  begun = true;
                  begun.notify_all();
                  released_.wait(false);
                  out.set_content(name_ + ", at last", "text/plain");
                });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running())
      std::this_thread::yield();
  }

  ~named_server() {
    release();
    server_.stop();
    thread_.join();
  }

  named_server(const named_server&) = delete;
  named_server& operator=(const named_server&) = delete;

  [[nodiscard]] std::string url() const {
    return fmt::format("http://127.0.0.1:{}", port_);
  }

  void release() {
    released_ = true;
    released_.notify_all();
  }

  std::atomic<bool> begun{false};

private:
  std::string name_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::atomic<bool> released_{false};
};

std::string get(caf::actor_system& sys, const caisson::call_handle& gate,
                const std::string& target) {
  std::string out;
  caf::scoped_actor self{sys};
  self->request(gate, 20s, caisson::as_call({.target = target}))
    .receive([&](const caisson::http_response& x) { out = x.body; },
             [&](const caf::error& err) { out = demo::text_of(err); });
  return out;
}

caisson::reload_report reload(caf::actor_system& sys,
                              const caisson::gate_set& gates) {
  caisson::reload_report out;
  caf::scoped_actor self{sys};
  self->request(gates.controller(), 20s, caisson::reload{})
    .receive([&](const caisson::reload_report& x) { out = x; },
             [&](const caf::error& err) {
               out.problems.push_back(demo::text_of(err));
             });
  return out;
}

} // namespace

int main() {
  demo::story story;
  demo::scratch_directory files;
  named_server before{"the earlier server"};
  named_server after{"the new server"};
  auto path = files.file("gates.toml");
  auto write = [&](const std::string& worker) {
    std::ofstream{path} << "[gates.catalog]\nworker = " << worker << '\n';
  };
  caisson::init_http_types();
  caisson::system_config config;
  caisson::register_http_types(config);
  caf::actor_system system{config};
  {
    write(fmt::format("{{ kind = \"http\", url = \"{}\" }}", before.url()));
    // [program]
    caisson::worker_names workers;
    workers.add_kind(caisson::http_worker_kind());
    auto gates = caisson::spawn_gates(system, path, workers);
    // [/program]
    auto catalog = gates.calls("catalog");
    story.print("GET /item: {}", get(system, catalog, "/item"));
    auto slow = std::async(std::launch::async,
                           [&] { return get(system, catalog, "/slow"); });
    before.begun.wait(false);

    story.print("-- a file with two mistakes");
    write("{ kind = \"http\", ulr = \"http://x\", max_in_progress = 0 }");
    auto report = reload(system, gates);
    for (const auto& x : report.problems)
      // Without the name of the file and the list of all keys.
      story.print("  line {}", x.substr(path.size() + 1, x.find(" known keys")
                                                           - path.size() - 1));
    story.check(!report.ok(), "it is refused");

    story.print("-- another server, while GET /slow is in progress");
    write(fmt::format("{{ kind = \"http\", url = \"{}\", max_waiting = 8 }}",
                      after.url()));
    report = reload(system, gates);
    story.check(report.ok() && report.changes.size() == 1, "it is in force");
    story.print("GET /item: {}", get(system, catalog, "/item"));
    before.release();
    story.print("GET /slow: {}", slow.get());
  }
  return story.end();
}

/* It prints:

GET /item: the earlier server
-- a file with two mistakes
  line 2:63: gates.catalog.worker.max_in_progress: 0 is out of range, allowed: 1 to 10000
  line 2:33: gates.catalog.worker.ulr: unknown key, did you mean "url"?
-- another server, while GET /slow is in progress
GET /item: the new server
GET /slow: the earlier server, at last
*/
