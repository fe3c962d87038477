// Opens connections to PostgreSQL, each in a thread of its own.
#pragma once

#include <caisson/adapters/interruption.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>

namespace caisson::detail {

struct close_postgres {
  void operator()(PGconn* x) const noexcept { PQfinish(x); }
};

using postgres_connection = std::unique_ptr<PGconn, close_postgres>;

/// Some of what libpq does while it connects ends only when the server or the
/// resolver lets it: looking up a name, reading what comes without a pause,
/// deriving a key in as many rounds as the server says. So another thread does
/// it, which is left alone when the time is over, and ends when it can.
///
/// For several threads at once.
class postgres_opener {
public:
  /// `most`: how many threads there may be at once, with those that were left
  /// alone.
  postgres_opener(std::string connection, std::uint32_t most);
  ~postgres_opener();

  postgres_opener(const postgres_opener&) = delete;
  postgres_opener& operator=(const postgres_opener&) = delete;

  struct result {
    /// In pipeline mode, and not blocking; null if there is none.
    postgres_connection connection = {};
    std::string problem = {};
  };

  /// Waits until `until` at the latest, or until the job is called off.
  [[nodiscard]] result open(interruption& signal, time_point until);

private:
  struct places;
  class attempt;

  std::string connection_;
  std::shared_ptr<places> places_;
};

} // namespace caisson::detail
