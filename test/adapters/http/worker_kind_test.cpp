// Workers for HTTP servers that a file of gates describes.
#include <adapters/http/servers.hpp>

#include <caisson/config/gate_file.hpp>
#include <caisson/config/gate_set.hpp>

#include <support/described_rows.hpp>
#include <support/scratch.hpp>
#include <support/source_dir.hpp>
#include <support/toml_texts.hpp>

#include <atomic>
#include <future>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class http_kind : public http_test {
protected:
  http_kind() { names.add_kind(http_worker_kind()); }

  ~http_kind() override { gates = {}; }

  void write(const std::string& worker) {
    dir.write("gates.toml",
              "[gates.a]\nworker = { kind = 'http', " + worker + " }\n");
  }

  void start(const std::string& worker) {
    write(worker);
    gates = spawn_gates(*sys, dir / "gates.toml", names);
  }

  reload_report load(const std::string& worker) {
    write(worker);
    reload_report out;
    portable::ask_blocking(*self, gates.controller(), 30s, reload{})
      .receive(
        [&](reload_report& x) { out = std::move(x); },
        [&](caf::error& x) { out.problems = {portable::render(*sys, x)}; });
    return out;
  }

  static std::string url_of(std::uint16_t port) {
    return "url = 'http://127.0.0.1:" + std::to_string(port) + "'";
  }

  scratch_dir dir;
  worker_names names;
  gate_set gates;
};

TEST_F(http_kind, has_all_settings_of_the_worker) {
  problems found;
  auto file = read_gates(parsed(table_of("http", http_worker_kind().rows())),
                         names, found, *sys);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(file.gates.size(), 1u);
}

TEST_F(http_kind, is_as_the_documentation_says) {
  problems found;
  auto text = region_of(source_path("demos/examples/servers.toml"), "http");
  auto file = read_gates(parsed(text), names, found, *sys);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(file.gates.at("catalog").described->kind(), "http");
}

TEST_F(http_kind, reports_what_the_worker_would_refuse) {
  auto complaint = [&](const std::string& worker) {
    write(worker);
    problems found;
    static_cast<void>(read_gate_file(dir / "gates.toml", names, found, *sys));
    auto text = to_text(found);
    auto place = (dir / "gates.toml").string() + ":2:";
    EXPECT_TRUE(text.starts_with(place)) << text;
    return text.substr(std::min(text.size(), place.size()));
  };
  EXPECT_EQ(complaint("url = 'catalog'").substr(0, 24),
            "33: gates.a.worker.url: ");
  EXPECT_EQ(complaint("url = 'https://x', ca_file = '/no/such'").substr(0, 28),
            "56: gates.a.worker.ca_file: ");
  EXPECT_EQ(complaint("max_in_progress = 0"),
            "45: gates.a.worker.max_in_progress: 0 is out of range, allowed: "
            "1 to 10000");
  // A password may be in it.
  EXPECT_EQ(complaint("proxy = 'http://me:secret'").find("secret"),
            std::string::npos);
}

TEST_F(http_kind, changes_servers_while_requests_are_in_progress) {
  std::atomic<int> begun{0};
  std::promise<void> go;
  auto gone = go.get_future().share();
  real_server first{[&](httplib::Server& s) {
    s.Get("/slow", [&](const httplib::Request&, httplib::Response& out) {
      ++begun;
      gone.wait();
      out.set_content("first", "text/plain");
    });
  }};
  real_server second{[](httplib::Server& s) {
    s.Get("/", [](const httplib::Request&, httplib::Response& out) {
      out.set_content("second", "text/plain");
    });
  }};
  start(url_of(first.port()));
  auto gate = gates.calls("a");
  std::vector<std::future<std::string>> slow;
  for (int i = 0; i < 4; ++i)
    slow.push_back(std::async(std::launch::async, [&] {
      caf::scoped_actor client{*sys};
      std::string out;
      portable::ask_blocking(client, gate, 30s, as_call({.target = "/slow"}))
        .receive([&](const http_response& x) { out = x.body; },
                 [&](const caf::error& e) { out = to_text(e); });
      return out;
    }));
  ASSERT_TRUE(eventually([&] { return begun == 4; }));
  auto report = load(url_of(second.port()));
  ASSERT_TRUE(report.ok()) << report.problems.front();
  auto x = ask(gate, as_call({.target = "/"}));
  ASSERT_TRUE(x.response) << x.failure();
  EXPECT_EQ(x.response->body, "second");
  go.set_value();
  for (auto& y : slow)
    EXPECT_EQ(y.get(), "first");
}

TEST_F(http_kind, loses_no_request_while_servers_change_again_and_again) {
  auto serve = [](httplib::Server& s) {
    s.Get("/", [](const httplib::Request&, httplib::Response& out) {
      out.set_content("x", "text/plain");
    });
  };
  real_server first{serve};
  real_server second{serve};
  start(url_of(first.port()));
  auto gate = gates.calls("a");
  std::atomic<bool> done{false};
  std::atomic<int> failed{0};
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i)
    clients.emplace_back([&] {
      caf::scoped_actor client{*sys};
      while (!done)
        portable::ask_blocking(client, gate, 30s, as_call({.target = "/"}))
          .receive([&](const http_response&) { ++good; },
                   [&](const caf::error&) { ++failed; });
    });
  for (int i = 0; i < 20; ++i) {
    auto report = load(url_of(i % 2 == 0 ? second.port() : first.port()));
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.changes.size(), 1u);
    auto before = good.load();
    EXPECT_TRUE(eventually([&] { return good > before + 5; }));
  }
  done = true;
  for (auto& x : clients)
    x.join();
  EXPECT_EQ(failed, 0);
}

} // namespace
} // namespace caisson::test
