// PostgreSQL's side of the protocol, for servers that say what a test wants.
#pragma once

#include <caisson/adapters/postgres/client.hpp>
#include <caisson/gate.hpp>

#include <support/scripted_server.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace caisson::test {

using namespace std::chrono_literals;

// A message of version 3 of the protocol.
inline std::string protocol_message(char type, const std::string& body) {
  auto n = body.size() + 4;
  std::string all{type};
  for (int shift = 24; shift >= 0; shift -= 8)
    all += static_cast<char>(n >> shift & 0xff);
  return all + body;
}

inline const std::string nul(1, '\0');

// Nobody in a transaction, and ready for what comes next.
inline const std::string ready = protocol_message('Z', "I");

// A statement without rows is parsed, bound, described and carried out.
inline std::string done_with(const std::string& tag) {
  return protocol_message('1', "") + protocol_message('2', "")
         + protocol_message('n', "") + protocol_message('C', tag + nul);
}

inline std::string fatal(const std::string& sqlstate) {
  return protocol_message('E', "SFATAL" + nul + "VFATAL" + nul + "C" + sqlstate
                                 + nul + "Mbye" + nul + nul);
}

// The letter of NOTICE is N, that of an error E.
inline std::string remark(char type, const std::string& sqlstate) {
  return protocol_message(type, "SERROR" + nul + "VERROR" + nul + "C" + sqlstate
                                  + nul + "Mno" + nul + nul);
}

// All that a transaction with one statement is answered with.
inline const std::string begun = done_with("BEGIN") + done_with("SET");
inline const std::string inserted = begun + done_with("INSERT 0 1");
inline const std::string committed = inserted + done_with("COMMIT");
inline const std::string reset = done_with("DISCARD ALL") + done_with("SET");

// Reads up to what ends a pipeline; returns whether it came.
template <class Peer>
bool read_pipeline(Peer& x) {
  const std::string sync{"S\0\0\0\4", 5};
  for (std::string all; !all.ends_with(sync);) {
    auto part = x.read();
    if (part.empty())
      return false;
    all += part;
  }
  return true;
}

// Asks for a password (3), or for nothing (0), or for something else.
inline std::string asks_for(char what) {
  return protocol_message('R', std::string(3, '\0') + what);
}

// Lets a client in, without a password.
inline bool let_in(const raw_socket& x, const std::string& remarks = {}) {
  if (x.read().empty())
    return false;
  x.write(asks_for('\0') + remarks + ready);
  if (!read_pipeline(x))
    return false;
  x.write(done_with("SET") + ready);
  return true;
}

class scripted_postgres_test : public testing::Test {
protected:
  scripted_postgres_test() {
    init_sql_types();
    register_sql_types(cfg);
    sys.emplace(cfg);
    self.emplace(*sys);
  }

  static postgres_client_config config_for(const scripted_server& x) {
    postgres_client_config c;
    c.connection = "host=127.0.0.1 user=a dbname=a sslmode=disable "
                   "gssencmode=disable port="
                   + std::to_string(x.port());
    c.threads = 1;
    return c;
  }

  // None if it cannot connect.
  caf::actor pool_for(const postgres_client_config& c) {
    auto pool = postgres_worker(c).factory()(*sys);
    return pool ? *pool : caf::actor{};
  }

  caf::actor pool_for(const scripted_server& x) {
    return pool_for(config_for(x));
  }

  auto send(const caf::actor& to) {
    auto what = as_call(sql("insert into a values (1)"));
    what.options.time_left = 10s;
    return portable::ask_blocking(*self, to, 30s, std::move(what));
  }

  template <class Handle>
  static std::string receive(Handle h) {
    std::string what;
    std::move(h).receive([&](const sql_result& x) { what = x.sqlstate; },
                         [&](const caf::error& e) {
                           auto code = transport_errc_of(e);
                           what = code ? std::string{name_of(*code)}
                                       : "another error";
                         });
    return what;
  }

  // What the worker makes of these bytes and the end of the connection, sent
  // instead of what a whole transaction is answered with.
  std::string meaning_of(const std::string& bytes) {
    scripted_server server{[&](raw_socket& x, int) {
      if (let_in(x) && read_pipeline(x))
        x.write(bytes);
    }};
    auto pool = pool_for(server);
    auto what = receive(send(pool));
    caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
    return what;
  }

  system_config cfg;
  std::optional<caf::actor_system> sys;
  std::optional<caf::scoped_actor> self;
};

} // namespace caisson::test
