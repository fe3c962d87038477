#include "services.hpp"

#include <caisson/adapters/http/front.hpp>
#include <caisson/adapters/http_client/client.hpp>
#include <caisson/adapters/postgres/client.hpp>
#include <caisson/adapters/redis/client.hpp>
#include <caisson/caf/inherit.hpp>
#include <caisson/config/gate_set.hpp>
#include <caisson/observe/control/server.hpp>
#include <caisson/observe/metrics/server.hpp>

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shop {

namespace {

using namespace std::chrono_literals;
using caisson::http_request;
using caisson::http_response;
using caisson::http_route;
using caisson::worker_names;

/// How many requests a service has in flight to another one.
constexpr std::uint32_t connections = 16;

/// How long it keeps a connection without any: shorter than the other side
/// does, so that none is closed that is just about to be used.
constexpr auto idle = 4s;

/// Sends the next service how important a request is. The front does not
/// believe its own clients.
constexpr auto priority_header = "x-priority";

using parts = std::vector<std::string>;

/// `/carts/7/42` is carts, 7 and 42.
parts parts_of(const std::string& target) {
  parts out;
  for (std::size_t at = 0; at < target.size();) {
    auto end = std::min(target.find('/', at + 1), target.size());
    out.push_back(target.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

http_response text(std::int32_t status, const std::string& what) {
  return {status, {{"content-type", "text/plain"}}, what + '\n'};
}

// One address is all customers, and all of the front.
caisson::http_front_config listening(const arguments& args) {
  return {.port = args.port,
          .threads = 64,
          .max_waiting = 256,
          .max_connections = 1'024,
          .max_per_peer = 1'024,
          .deadline_header = args.deadlines
                               ? std::string{caisson::http_deadline_header}
                               : "",
          .priority_header = args.role == "front" ? "" : priority_header};
}

void add_http(worker_names& names, const arguments& args,
              const std::string& name, std::uint16_t port) {
  caisson::http_client_config c{.url = fmt::format("http://127.0.0.1:{}", port),
                                .max_in_progress = connections,
                                .idle_timeout = idle,
                                .priority_header = priority_header};
  if (!args.deadlines)
    c.deadline_header.clear();
  names.add_maker(
    name,
    [c](const caisson::supervision_config& s) {
      return caisson::http_worker(c, s);
    },
    caisson::patient_supervision());
}

/// Serves the metrics of the gates, and lets `caisson ctl` control them,
/// if the process is configured so; until it ends.
void serve_until_signal(caf::actor_system& sys, const arguments& args,
                        const caisson::gate_set& gates) {
  std::optional<caisson::metrics_server> metrics;
  if (!args.metrics.empty())
    metrics.emplace(sys, args.metrics);
  std::optional<caisson::control_server> control;
  if (!args.control.empty()) {
    control.emplace(sys, caisson::control_config{.file = args.control});
    control->add(gates);
  }
  auto ends = ending_signals();
  int got = 0;
  sigwait(&ends, &got);
}

// -- catalog ------------------------------------------------------------------

// `work`: seconds for which it keeps the database at work.
caisson::call item_request(const http_request& x, const std::string& work) {
  auto query = caisson::sql("select name, price, pg_sleep($2::float8) "
                            "from items where id = $1",
                            {{parts_of(x.target).at(1)}, {work}});
  query.read_only = true;
  return caisson::as_call(std::move(query)).key(x.target);
}

http_response item_found(const caf::message& answer) {
  const auto& x = answer.get_as<caisson::sql_result>(0);
  if (x.sqlstate != "00000")
    return text(503, "database: " + x.sqlstate);
  const auto& rows = x.tables.at(0).rows;
  if (rows.empty())
    return text(404, "no such item");
  return text(200, rows[0].at(0).text + ' ' + rows[0].at(1).text);
}

void serve_catalog(caf::actor_system& sys, const arguments& args) {
  worker_names names;
  names.add_maker(
    "database",
    [&](const caisson::supervision_config& s) {
      return caisson::postgres_worker({.connection = args.postgres,
                                       .threads = args.connections,
                                       .idle_timeout = idle},
                                      s);
    },
    caisson::patient_supervision());
  auto gates = caisson::spawn_gates(sys, args.gates, names);
  auto database = gates.calls("database");
  auto request_item =
    [work = fmt::format("{:.3f}", args.query / 1.0s)](const http_request& x) {
      return item_request(x, work);
    };
  caisson::http_front front{
    sys,
    [=](const http_request&) {
      return std::optional{http_route{database, request_item, item_found}};
    },
    listening(args)};
  serve_until_signal(sys, args, gates);
}

// -- cart ---------------------------------------------------------------------

caisson::call item_added(const http_request& x) {
  auto path = parts_of(x.target);
  return caisson::as_call(
    caisson::redis_command{{"HSET", "cart:" + path.at(1), path.at(2), "1"}});
}

http_response cart_changed(const caf::message& answer) {
  const auto& x = answer.get_as<caisson::redis_reply>(0);
  return x.kind == caisson::redis_kind::error ? text(503, "redis: " + x.text)
                                              : text(200, "in the cart");
}

void serve_cart(caf::actor_system& sys, const arguments& args) {
  worker_names names;
  names.add_maker(
    "redis",
    [&](const caisson::supervision_config& s) {
      return caisson::redis_worker(
        {.port = args.redis, .threads = connections, .idle_timeout = idle}, s);
    },
    caisson::patient_supervision());
  auto gates = caisson::spawn_gates(sys, args.gates, names);
  auto redis = gates.calls("redis");
  caisson::http_front front{
    sys,
    [=](const http_request&) {
      return std::optional{http_route{redis, item_added, cart_changed}};
    },
    listening(args)};
  serve_until_signal(sys, args, gates);
}

// -- payment ------------------------------------------------------------------

/// Takes a while for each payment.
class till final : public caf::event_based_actor {
public:
  explicit till(caf::actor_config& cfg) : caf::event_based_actor(cfg) {}

  caf::behavior make_behavior() override {
    return {
      [this](const http_request&) -> caf::result<http_response> {
        open_.emplace(++last_, make_response_promise<http_response>());
        caisson::portable::later(this, time, last_);
        return open_.at(last_);
      },
      [this](std::uint64_t n) {
        open_.extract(n).mapped().deliver(text(200, "paid"));
      },
    };
  }

  void on_exit() override { open_.clear(); }

private:
  static constexpr auto time = 20ms;

  std::map<std::uint64_t, caf::typed_response_promise<http_response>> open_;
  std::uint64_t last_ = 0;
};

void serve_payment(caf::actor_system& sys, const arguments& args) {
  worker_names names;
  names.add_factory("till", [](caf::actor_system& home) {
    return caf::expected<caf::actor>{
      caf::actor_cast<caf::actor>(home.spawn<till>())};
  });
  auto gates = caisson::spawn_gates(sys, args.gates, names);
  caisson::http_front front{sys, gates.calls("till"), listening(args)};
  serve_until_signal(sys, args, gates);
}

// -- front --------------------------------------------------------------------

/// People who have bought something. The threads of the front ask for them.
class regulars {
public:
  void add(const std::string& user) {
    std::lock_guard guard{mutex_};
    all_.insert(user);
  }

  [[nodiscard]] bool has(const std::string& user) const {
    std::lock_guard guard{mutex_};
    return all_.count(user) != 0;
  }

private:
  mutable std::mutex mutex_;
  std::unordered_set<std::string> all_;
};

/// What an order is worth; for one who only looks it is 0.
std::int32_t priority_of(const regulars& known, const std::string& user) {
  return known.has(user) ? 2 : 1;
}

/// Carries out orders: one request after the other, and no further one once one
/// has failed.
class checkout final : public caf::event_based_actor {
public:
  using promise = caf::typed_response_promise<http_response>;
  struct purchase {
    std::string user;
    std::array<std::pair<caf::actor, http_request>, 3> steps;
  };

  checkout(caf::actor_config& cfg, caf::actor catalog, caf::actor cart,
           caf::actor payment, std::shared_ptr<regulars> known)
    : caf::event_based_actor(cfg), catalog_(std::move(catalog)),
      cart_(std::move(cart)), payment_(std::move(payment)),
      known_(std::move(known)) {}

  caf::behavior make_behavior() override {
    return {[this](const caisson::call& order) -> caf::result<http_response> {
      auto answer = make_response_promise<http_response>();
      const auto& x = order.payload.get_as<http_request>(0);
      auto path = parts_of(x.target);
      const auto& user = path.at(1);
      const auto& item = path.at(2);
      auto todo = std::make_shared<purchase>(
        purchase{user,
                 {{{catalog_, {"GET", "/items/" + item}},
                   {cart_, {"POST", "/carts/" + user + '/' + item}},
                   {payment_, {"POST", "/payments/" + user}}}}});
      // The service knows a payment by its key, so a repeated one is safe.
      todo->steps[2].second.headers["idempotency-key"] = order.options
                                                           .idempotency_key;
      run_step(todo, 0, caisson::inherit(order.options, clock().now()), answer);
      return answer;
    }};
  }

private:
  void run_step(const std::shared_ptr<purchase>& todo, std::size_t at,
                const caisson::call_options& options, promise answer) {
    if (at == todo->steps.size()) {
      known_->add(todo->user);
      answer.deliver(text(200, "sold"));
      return;
    }
    const auto& [to, what] = todo->steps[at];
    auto step = caisson::as_call(what);
    // The order's deadline and what it is worth; whether it may be repeated is
    // the step's own.
    step.options.deadline_ns = options.deadline_ns;
    step.options.priority = options.priority;
    step.options.path = options.path;
    caisson::portable::ask(this, to, caisson::portable::no_timeout,
                           std::move(step))
      .then(
        [=, this](const http_response& x) mutable {
          if (x.status == 200)
            run_step(todo, at + 1, options, answer);
          else
            answer.deliver(x);
        },
        [=](const caf::error& x) mutable { answer.deliver(x); });
  }

  caf::actor catalog_;
  caf::actor cart_;
  caf::actor payment_;
  std::shared_ptr<regulars> known_;
};

void serve_front(caf::actor_system& sys, const arguments& args) {
  worker_names names;
  add_http(names, args, "catalog", args.catalog);
  add_http(names, args, "cart", args.cart);
  add_http(names, args, "payment", args.payment);
  auto gates = caisson::spawn_gates(sys, args.gates, names);
  auto known = std::make_shared<regulars>();
  auto orders = caf::actor_cast<caf::actor>(
    sys.spawn<checkout>(gates.calls("catalog"), gates.calls("cart"),
                        gates.calls("payment"), known));
  {
    caisson::http_router routes =
      [=, catalog = gates.calls("catalog")](
        const http_request& x) -> std::optional<http_route> {
      auto what = parts_of(x.target).at(0);
      if (what == "items")
        return http_route{catalog, [](const http_request& request) {
                            return caisson::as_call(request).key(
                              request.target);
                          }};
      if (what == "orders")
        return http_route{orders, [known](const http_request& request) {
                            auto user = parts_of(request.target).at(1);
                            return caisson::as_call(request).priority(
                              priority_of(*known, user));
                          }};
      return std::nullopt;
    };
    caisson::http_front front{sys, routes, listening(args)};
    serve_until_signal(sys, args, gates);
  }
  caf::anon_send_exit(orders, caf::exit_reason::user_shutdown);
}

} // namespace

void serve(caf::actor_system& sys, const arguments& args) {
  if (args.role == "catalog")
    serve_catalog(sys, args);
  else if (args.role == "cart")
    serve_cart(sys, args);
  else if (args.role == "payment")
    serve_payment(sys, args);
  else
    serve_front(sys, args);
}

} // namespace shop
