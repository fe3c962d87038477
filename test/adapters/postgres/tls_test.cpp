// The worker for PostgreSQL by TLS, with a real server. test/servers/run starts
// this.
#include "server.hpp"

#include <support/tls_files.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

// An environment variable, while this exists.
class variable {
public:
  variable(std::string name, const std::string& value)
    : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~variable() { ::unsetenv(name_.c_str()); }

  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

private:
  std::string name_;
};

class postgres_tls_test : public postgres_test {
protected:
  // With a certificate that is right, or another one.
  void start_tls(const std::string& name = "server",
                 const std::string& most = "TLSv1.3") {
    const auto& files = tls_files::all();
    server->start_tls(files.pem(name), files.key(name), files.pem("authority"),
                      most);
    auto c = config(1);
    c.connection += " sslmode=disable";
    for (int i = 0; i < 2'000; ++i) {
      if (refusal_of(*sys, postgres_worker(c)).empty())
        return;
      std::this_thread::sleep_for(5ms);
    }
    FAIL() << "no server";
  }

  static postgres_client_config single() { return trusting(config(1)); }

  static std::string connection_as(const std::string& user,
                                   const std::string& host = "127.0.0.1") {
    return "dbname=postgres user=" + user + " host=" + host
           + " port=" + server->port();
  }

  void expect_refused(const postgres_client_config& c, const std::string& why) {
    auto text = refusal_of(*sys, postgres_worker(c));
    EXPECT_NE(text.find(why), std::string::npos) << text;
  }
};

TEST_F(postgres_tls_test, is_answered_by_tls) {
  for (std::string version : {"TLSv1.2", "TLSv1.3"}) {
    start_tls("server", version);
    auto g = gate_for(single());
    EXPECT_EQ(ask(g, "select version from pg_stat_ssl "
                     "where pid = pg_backend_pid()")
                .value(),
              version);
    auto backend = ask(g, "select pg_backend_pid()").value();
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(ask(g, "select pg_backend_pid()").value(), backend);
    // In one value, and in many.
    EXPECT_EQ(ask(g, "select repeat('x', 6000000)").value().size(), 6'000'000u);
    auto rows = ask(g,
                    "select repeat('x', 1000) from generate_series(1, 9000)");
    ASSERT_TRUE(rows.result) << rows.what();
    EXPECT_EQ(rows.result->tables.back().rows.size(), 9'000u);
    auto large = sql("select length($1)", {{std::string(3'000'000, 'y')}});
    EXPECT_EQ(ask(g, large).value(), "3000000");
    EXPECT_EQ(ask(g, "select pg_backend_pid()").value(), backend);
  }
}

TEST_F(postgres_tls_test, ends_results_by_their_size) {
  start_tls();
  auto c = single();
  c.max_result = 100'000;
  auto g = gate_for(c);
  EXPECT_EQ(ask(g, "select repeat('x', 90000)").value().size(), 90'000u);
  EXPECT_EQ(ask(g, "select repeat('x', 100001)").what(), "too_large");
  EXPECT_EQ(ask(g, "select repeat('x', 50000000)").what(), "too_large");
  EXPECT_EQ(ask(g, "select 1").value(), "1");
}

TEST_F(postgres_tls_test, knows_the_server_by_its_address_or_its_name) {
  start_tls();
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    auto c = single();
    c.connection = connection_as("postgres", host);
    EXPECT_EQ(refusal_of(*sys, postgres_worker(c)), "") << host;
    c.connection = "postgresql://postgres@" + std::string{host} + ":"
                   + server->port() + "/postgres";
    EXPECT_EQ(refusal_of(*sys, postgres_worker(c)), "") << host;
  }
}

TEST_F(postgres_tls_test, refuses_a_server_that_is_not_the_right_one) {
  start_tls();
  auto c = single();
  c.ca_file = tls_files::all().pem("stranger");
  expect_refused(c, "certificate verify failed");
  start_tls("elsewhere");
  expect_refused(single(), "does not match");
  start_tls("expired");
  expect_refused(single(), "certificate verify failed");
  c = config(1);
  c.tls = true;
  c.verify_server = false;
  EXPECT_EQ(refusal_of(*sys, postgres_worker(c)), "");
}

TEST_F(postgres_tls_test, shows_its_certificate) {
  for (std::string version : {"TLSv1.2", "TLSv1.3"}) {
    start_tls("server", version);
    auto g = gate_for(config(1));
    (void)ask(g, "create role certified login");
    auto c = single();
    c.connection = connection_as("certified");
    expect_refused(c, "certificate");
    c = certified(c, "client");
    EXPECT_EQ(ask(gate_for(c), "select current_user").value(), "certified")
      << version;
    EXPECT_NE(refusal_of(*sys, postgres_worker(certified(c, "intruder"))), "")
      << version;
  }
}

TEST_F(postgres_tls_test, gives_its_password_by_tls) {
  start_tls();
  (void)ask(gate_for(config(1)), "create role known login password 'it''s \\'");
  auto c = single();
  c.connection = connection_as("known") + " password='it\\'s \\\\'";
  EXPECT_EQ(ask(gate_for(c), "select current_user").value(), "known");
  c.connection = connection_as("known") + " password=guess";
  expect_refused(c, "password authentication failed");
}

TEST_F(postgres_tls_test, is_not_changed_by_the_environment) {
  const auto& files = tls_files::all();
  start_tls();
  // Each would make it fail, or not fail.
  std::vector<std::pair<std::string, std::string>> all{
    {"PGSSLMODE", "disable"},
    {"PGSSLROOTCERT", files.pem("stranger")},
    {"PGSSLCERT", files.pem("intruder")},
    {"PGSSLKEY", files.key("client")},
    {"PGSSLCRL", files.pem("stranger")},
    {"PGSSLCRLDIR", "/none"},
    {"PGGSSENCMODE", "require"},
    {"PGREQUIRESSL", "0"},
    {"PGSSLMINPROTOCOLVERSION", "TLSv1.3"},
    {"PGSSLMAXPROTOCOLVERSION", "TLSv1.2"},
  };
  for (const auto& [name, value] : all) {
    variable x{name, value};
    EXPECT_EQ(refusal_of(*sys, postgres_worker(single())), "") << name;
  }
  // Nor by the files in its home.
  auto home = std::filesystem::path{files.text("none", "")}.parent_path();
  auto folder = home / ".postgresql";
  std::filesystem::create_directory(folder);
  auto keep = std::string{std::getenv("HOME") ? std::getenv("HOME") : "/"};
  ::setenv("HOME", home.c_str(), 1);
  for (const auto* name : {"postgresql.crt", "root.crt", "root.crl"}) {
    std::filesystem::copy_file(files.pem("stranger"), folder / name);
    auto c = config(1);
    c.tls = true;
    c.verify_server = false;
    EXPECT_EQ(refusal_of(*sys, postgres_worker(c)), "") << name;
    EXPECT_EQ(refusal_of(*sys, postgres_worker(single())), "") << name;
  }
  ::setenv("HOME", keep.c_str(), 1);
  variable root{"PGSSLROOTCERT", files.pem("authority")};
  variable mode{"PGSSLMODE", "allow"};
  auto c = single();
  c.ca_file = files.pem("stranger");
  expect_refused(c, "certificate verify failed");
  start_tls("server", "TLSv1.2");
  variable oldest{"PGSSLMAXPROTOCOLVERSION", "TLSv1.1"};
  EXPECT_EQ(refusal_of(*sys, postgres_worker(single())), "");
}

TEST_F(postgres_tls_test, has_none_without_the_setting) {
  start_tls();
  auto c = config(1);
  c.connection += " sslmode=disable";
  const std::string by_tls
    = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
  EXPECT_EQ(ask(gate_for(c), by_tls).value(), "f");
  c.connection = server->connection() + " sslmode=verify-full sslrootcert="
                 + tls_files::all().pem("authority");
  EXPECT_EQ(ask(gate_for(c), by_tls).value(), "t");
}

// -- deadlines and ends -------------------------------------------------------

TEST_F(postgres_tls_test, leaves_no_answer_to_the_next_call) {
  start_tls();
  auto g = gate_for(single());
  ASSERT_EQ(ask(g, "create table t1 (id int)").what(), "00000");
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    // Which statement_timeout does not end.
    auto x = ask(g,
                 sql("do $$ begin insert into t1 values (1); perform "
                     "set_config('statement_timeout', '0', true); perform "
                     "pg_sleep(5); end $$"),
                 100ms);
    EXPECT_NE(x.what(), "00000");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
    auto text = "select " + std::to_string(i);
    EXPECT_EQ(ask(g, text).value(), std::to_string(i));
  }
  EXPECT_EQ(ask(g, "select count(*) from t1").value(), "0");
  EXPECT_EQ(look(g).metric("worker_losses"), 0);
}

TEST_F(postgres_tls_test, ends_by_the_deadline_if_the_server_stands_still) {
  start_tls();
  auto g = gate_for(single());
  ASSERT_EQ(ask(g, "select 1").value(), "1");
  server->signal_all(SIGSTOP);
  for (int i = 0; i < 2; ++i) {
    auto begin = std::chrono::steady_clock::now();
    auto what = ask(g, "select 2", 200ms).what();
    EXPECT_TRUE(what == "timed_out" || what == "deadline_exceeded"
                || what == "not_connected")
      << what;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  }
  server->signal_all(SIGCONT);
  EXPECT_EQ(ask(g, "select 3").value(), "3");
}

TEST_F(postgres_tls_test, is_cancelled_while_the_server_works) {
  start_tls();
  auto pool = postgres_worker(single()).factory()(*sys);
  ASSERT_TRUE(pool);
  caf::actor gate = spawn_gate(
    *sys, worker{*pool}.takes_calls().takes_cancelled(), stack{});
  auto waits = send(gate, sql("select pg_sleep(20)"));
  std::this_thread::sleep_for(100ms);
  auto begin = std::chrono::steady_clock::now();
  stop_gate(gate);
  (void)receive(std::move(waits));
  EXPECT_EQ(ask(*pool, "select 1").value(), "1");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  caf::anon_send_exit(*pool, caf::exit_reason::user_shutdown);
}

TEST_F(postgres_tls_test, is_given_up_in_time_while_connecting) {
  struct row {
    const char* says;
    scripted_server::script script;
  };
  std::string got;
  const row rows[] = {
    {"connect timed out",
     [](raw_socket& x, int) {
       while (!x.read().empty())
         ;
     }},
    // Agrees to TLS, and says nothing more.
    {"connect timed out",
     [](raw_socket& x, int) {
       (void)x.read();
       x.write("S");
       while (!x.read().empty())
         ;
     }},
    // Agrees, and closes.
    {"",
     [](raw_socket& x, int) {
       (void)x.read();
       x.write("S");
       (void)x.read();
     }},
    // Has no TLS.
    {"does not support SSL",
     [&](raw_socket& x, int) {
       (void)x.read();
       x.write("N");
       for (auto part = x.read(); !part.empty(); part = x.read())
         got += part;
     }},
  };
  for (const auto& [says, script] : rows) {
    scripted_server hostile{script};
    auto c = single();
    c.connection = "host=127.0.0.1 user=a dbname=a password=secret port="
                   + std::to_string(hostile.port());
    c.connect_timeout = 300ms;
    auto begin = std::chrono::steady_clock::now();
    auto text = refusal_of(*sys, postgres_worker(c));
    EXPECT_NE(text, "");
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  }
  EXPECT_EQ(got, "");
}

// -- settings -----------------------------------------------------------------

using config_type = postgres_client_config;

config_type with_tls(const std::string& connection) {
  auto c = trusting(config_type{});
  c.connection = connection;
  return c;
}

TEST(postgres_tls_settings, need_a_host_and_no_other_word_on_tls) {
  EXPECT_EQ(wrong_settings_of(config_type{}), "");
  for (const auto* x :
       {"host=a", "host=10.0.0.7 dbname=b", "postgresql://u:p@a:5433/b",
        "host=a,b port=1,2", "host=::1", "host=a gssencmode=disable",
        "host=a sslcrl=/x ssl_min_protocol_version=TLSv1.3"})
    EXPECT_EQ(wrong_settings_of(with_tls(x)), "") << x;
  for (const auto* x :
       {"", "dbname=a", "hostaddr=10.0.0.7", "host=/run/postgresql", "host=@a",
        "host=''", "host=a,", "host=a,,b", "host=a,/run", "service=a",
        "host=a sslmode=require", "host=a sslrootcert=x", "host=a sslkey=x",
        "host=a sslcert=x", "host=a sslpassword=x", "host=a gssencmode=prefer",
        "host=a requiressl=1", "postgresql://a/b?sslmode=disable"})
    EXPECT_EQ(wrong_settings_of(with_tls(x)), "connection") << x;
  for (const auto* x :
       {"host", "no=such", "host='a", "postgresql://a/b?no=such"})
    EXPECT_EQ(wrong_settings_of(config_type{.connection = x}), "connection")
      << x;
  EXPECT_EQ(wrong_settings_of(config_type{.connection = "sslmode=disable"}),
            "");
}

TEST(postgres_tls_settings, are_checked_with_their_files) {
  const auto& files = tls_files::all();
  auto right = certified(with_tls("host=a"), "client");
  EXPECT_EQ(wrong_settings_of(right), "");
  auto without = right;
  without.tls = false;
  EXPECT_EQ(wrong_settings_of(without),
            "ca_file client_certificate client_key");
  auto x = right;
  x.verify_server = false;
  EXPECT_EQ(wrong_settings_of(x), "verify_server");
  x.ca_file.clear();
  EXPECT_EQ(wrong_settings_of(x), "");
  x.client_key.clear();
  EXPECT_EQ(wrong_settings_of(x), "client_key");
  x = right;
  x.client_key = files.key("locked");
  EXPECT_EQ(wrong_settings_of(x), "client_key");
  x.client_key = files.key("server");
  EXPECT_EQ(wrong_settings_of(x), "client_key");
  x.client_key = files.text("open.key", "");
  std::filesystem::copy_file(files.key("client"), x.client_key,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::permissions(x.client_key, std::filesystem::perms{0644});
  EXPECT_EQ(wrong_settings_of(x), "client_key");
  x = right;
  x.ca_file.clear();
  EXPECT_EQ(wrong_settings_of(x), PQlibVersion() < 160'000 ? "ca_file" : "");
  x.ca_file = "/none";
  EXPECT_EQ(wrong_settings_of(x), "ca_file");
}

} // namespace
} // namespace caisson::test
