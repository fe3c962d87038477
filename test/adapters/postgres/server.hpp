// Tests with a real PostgreSQL.
#pragma once

#include <caisson/adapters/postgres/client.hpp>
#include <caisson/gate.hpp>

#include <support/scripted_server.hpp>
#include <support/server_process.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

// Where `initdb` and `postgres` are.
inline std::string postgres_program(const std::string& name) {
  std::string newest = name;
  std::set<std::filesystem::path> versions;
  std::error_code none;
  for (const auto& x :
       std::filesystem::directory_iterator{"/usr/lib/postgresql", none})
    versions.insert(x.path());
  for (const auto& x : versions)
    if (std::filesystem::exists(x / "bin" / name))
      newest = (x / "bin" / name).string();
  return newest;
}

// One data directory for all tests; each uses tables of its own.
class postgres_cluster {
public:
  postgres_cluster() {
    server_process init{{postgres_program("initdb"), "-D", data(), "-U",
                         "postgres", "-A", "trust", "--no-sync"},
                        log(),
                        "postgres"};
    if (init.wait() != 0)
      throw std::runtime_error{"initdb failed, see " + log()};
    start();
  }

  void start() {
    std::vector<std::string> words{postgres_program("postgres"),
                                   "-D",
                                   data(),
                                   "-p",
                                   port(),
                                   "-k",
                                   dir_.path(),
                                   "-c",
                                   "listen_addresses=127.0.0.1",
                                   "-c",
                                   "max_connections=20"};
    words.insert(words.end(), more_.begin(), more_.end());
    server_ = std::make_unique<server_process>(words, log(), "postgres");
  }

  /// Ends, and starts again with TLS, with this certificate and key. A client
  /// that is the user `certified` needs a certificate of `authority`, one that
  /// is `known` a password.
  void start_tls(const std::string& certificate, const std::string& key,
                 const std::string& authority,
                 const std::string& most = "TLSv1.3") {
    crash();
    take("server.crt", certificate);
    take("server.key", key);
    take("root.crt", authority);
    std::ofstream{data() + "/pg_hba.conf"}
      << "hostssl all certified all trust clientcert=verify-ca\n"
         "hostssl all known all scram-sha-256\n"
         "host all all all trust\n"
         "local all all trust\n";
    more_ = {"-c", "ssl=on",
             "-c", "ssl_ca_file=root.crt",
             "-c", "ssl_max_protocol_version=" + most};
    start();
  }

  /// Makes all of its processes stand still, go on, or end. They are listed
  /// while the first one stands still: later it starts others, and once it has
  /// ended they are no longer its children.
  std::vector<pid_t> signal_all(int what) const {
    server_->signal(SIGSTOP);
    await_state(server_->id(), "TZ");
    auto id = std::to_string(server_->id());
    std::ifstream children{"/proc/" + id + "/task/" + id + "/children"};
    std::vector<pid_t> all;
    for (pid_t x = 0; children >> x;) {
      ::kill(x, what);
      all.push_back(x);
    }
    server_->signal(what);
    return all;
  }

  /// As if the machine had lost its power. A new server does not start while
  /// any process of the old one still has its memory.
  void kill() {
    auto all = signal_all(SIGKILL);
    server_->wait();
    for (auto x : all)
      if (!await_state(x, "Z"))
        throw std::runtime_error{"a process of PostgreSQL does not end"};
  }

  // As if it had crashed: all of its processes end at once.
  void crash() { server_->end(SIGQUIT); }

  [[nodiscard]] std::string connection() const {
    return "host=127.0.0.1 user=postgres dbname=postgres port=" + port();
  }

  [[nodiscard]] std::string port() const { return std::to_string(port_); }

private:
  // Copies it to where only the server may read it, which it insists on.
  void take(const std::string& name, const std::string& from) const {
    using std::filesystem::perms;
    auto to = data() + '/' + name;
    std::filesystem::copy_file(
      from, to, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(to, perms::owner_read | perms::owner_write);
    auto* owner = ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr;
    if (owner && ::chown(to.c_str(), owner->pw_uid, owner->pw_gid) != 0)
      throw std::runtime_error{"cannot give " + to + " away"};
  }

  [[nodiscard]] std::string data() const { return dir_.path() + "/data"; }
  [[nodiscard]] std::string log() const { return dir_.path() + "/log"; }

  scratch_dir dir_{"postgres"};
  std::uint16_t port_ = dead_port();
  std::vector<std::string> more_;
  std::unique_ptr<server_process> server_;
};

struct sql_reply {
  std::optional<sql_result> result;
  caf::error error;

  // `00000`, another SQLSTATE, or the name of an error.
  [[nodiscard]] std::string what() const {
    if (result)
      return result->sqlstate;
    if (auto code = transport_errc_of(error))
      return std::string{name_of(*code)};
    auto content = caf::make_message(error);
    auto o = outcome_of(content);
    return o.own_error ? std::string{name_of(static_cast<errc>(o.code))}
                       : "another error";
  }

  // The first value of the last table.
  [[nodiscard]] std::string value() const {
    if (!result || result->tables.empty() || result->tables.back().rows.empty())
      return "(" + what() + ")";
    return result->tables.back().rows.front().front().text;
  }
};

class postgres_test : public testing::Test {
protected:
  static void SetUpTestSuite() {
    server = std::make_unique<postgres_cluster>();
  }
  static void TearDownTestSuite() { server.reset(); }

  postgres_test() {
    init_sql_types();
    register_sql_types(cfg);
    sys.emplace(cfg);
    self.emplace(*sys);
  }

  ~postgres_test() override {
    for (auto& g : gates)
      stop_gate(g);
  }

  static postgres_client_config config(std::uint32_t threads = 4) {
    return {.connection = server->connection(), .threads = threads};
  }

  caf::actor gate_for(const postgres_client_config& c,
                      stack s = stack{"orders"}) {
    gates.push_back(spawn_gate(*sys, postgres_worker(c), std::move(s)));
    return gates.back();
  }

  static retrier_config patient() {
    return {
      .max_attempts = 0, .backoff = schedule::constant(5ms), .budget = false};
  }

  auto send(const caf::actor& to, sql_query x, duration within = 20s) {
    auto what = as_call(std::move(x));
    what.options.time_left = within;
    return portable::ask_blocking(*self, to, 60s, std::move(what));
  }

  template <class Handle>
  static sql_reply receive(Handle h) {
    sql_reply x;
    std::move(h).receive([&](const sql_result& r) { x.result = r; },
                         [&](const caf::error& e) { x.error = e; });
    return x;
  }

  sql_reply ask(const caf::actor& to, sql_query x, duration within = 20s) {
    return receive(send(to, std::move(x), within));
  }

  sql_reply ask(const caf::actor& to, const std::string& text,
                duration within = 20s) {
    return ask(to, sql(text), within);
  }

  status look(const caf::actor& g) {
    status s;
    portable::ask_blocking(*self, g, 20s, get_status{})
      .receive([&](const status& x) { s = x; }, [](const caf::error&) {});
    return s;
  }

  static inline std::unique_ptr<postgres_cluster> server;
  system_config cfg;
  std::optional<caf::actor_system> sys;
  std::optional<caf::scoped_actor> self;
  std::vector<caf::actor> gates;
};

} // namespace caisson::test
