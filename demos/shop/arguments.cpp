#include "arguments.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <stdexcept>

namespace shop {

namespace {

void add_options(CLI::App& app, arguments& x) {
  app.add_option("--port", x.port, "Listen here, at 127.0.0.1");
  app.add_option("--gates", x.gates, "The file of the gates");
  app.add_flag("!--no-deadlines", x.deadlines,
               "Do not pass the time left on to the next service");
  app.add_option("--metrics", x.metrics, "Serve metrics here: HOST:PORT");
  app.add_option("--control", x.control,
                 "Let `caisson ctl --control FILE` control the gates");
  app.add_option("--postgres", x.postgres, "The database, as libpq reads it");
  app.add_option("--redis", x.redis, "The port of Redis");
  app.add_option("--catalog", x.catalog, "The port of the catalog");
  app.add_option("--cart", x.cart, "The port of the cart");
  app.add_option("--payment", x.payment, "The port of the payment service");
  app.add_option("--front", x.front, "The port of the front");
  app.add_option("--connections", x.connections, "Connections to the database")
    ->check(CLI::Range(1, 1'024));
  app
    .add_option_function<int>(
      "--query-ms", [&x](int n) { x.query = std::chrono::milliseconds(n); },
      "Milliseconds that each query keeps the database at work")
    ->check(CLI::Range(0, 10'000));
  app.add_option("--rate", x.rate, "Requests per second")
    ->check(CLI::Range(1, 2'000));
  app
    .add_option_function<int>(
      "--seconds", [&x](int n) { x.time = std::chrono::seconds(n); },
      "How long the load lasts")
    ->check(CLI::Range(1, 86'400));
  app
    .add_option_function<int>(
      "--grace", [&x](int n) { x.grace = std::chrono::milliseconds(n); },
      "Milliseconds after its deadline by which a request has an answer")
    ->check(CLI::Range(0, 60'000));
  app.add_option("--seed", x.seed, "Draws when requests come, and for what");
  app.add_option("--items", x.items, "How many items there are")
    ->check(CLI::Range(1, 1'000'000));
  app.add_option("--users", x.users, "How many people order")
    ->check(CLI::Range(1, 1'000'000));
  app.add_option("--out", x.out, "Write what has become of them (JSON)");
}

} // namespace

arguments read_arguments(int argc, const char* const* argv) {
  CLI::App app{"One process of the shop; demos/shop/run starts them all."};
  arguments x;
  app.add_option("ROLE", x.role, "catalog, cart, payment, front or load")
    ->required()
    ->check(CLI::IsMember({"catalog", "cart", "payment", "front", "load"}));
  add_options(app, x);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    std::exit(app.exit(e));
  } catch (const CLI::ParseError& e) {
    throw std::runtime_error{e.what()};
  }
  return x;
}

} // namespace shop
