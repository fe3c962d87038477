// Arguments of the processes of the shop.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace shop {

struct arguments {
  /// catalog, cart, payment, front or load.
  std::string role;
  /// Where it listens, at 127.0.0.1.
  std::uint16_t port = 0;
  /// The file of its gates.
  std::string gates;
  /// Whether requests carry how much time is left to the next service.
  bool deadlines = true;
  /// Where its metrics are served: HOST:PORT; empty: nowhere.
  std::string metrics;
  /// Its control file, for `caisson ctl`; empty: none.
  std::string control;

  // Where the others are.
  std::string postgres;
  std::uint16_t redis = 0;
  std::uint16_t catalog = 0;
  std::uint16_t cart = 0;
  std::uint16_t payment = 0;
  std::uint16_t front = 0;

  // Of the catalog: what it can do.
  /// Connections to the database.
  std::uint32_t connections = 16;
  /// How long the database is at work on each query, on top of what it takes.
  std::chrono::milliseconds query{0};

  // Of the load.
  std::uint32_t rate = 100;
  std::chrono::seconds time{60};
  std::uint64_t seed = 1;
  /// How many items there are, and people who order.
  std::uint32_t items = 200;
  std::uint32_t users = 10'000;
  /// What may pass after the deadline of a request until its answer is there.
  std::chrono::milliseconds grace{50};
  std::string out;
};

/// Throws `std::runtime_error` if something is wrong with them.
arguments read_arguments(int argc, const char* const* argv);

} // namespace shop
