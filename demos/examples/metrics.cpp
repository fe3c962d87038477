// Serves the metrics of seven gates while their workers fail in various ways.
//
//   metrics [--address HOST:PORT] [--seconds N]
//
// Without arguments: 4 s on a free port of 127.0.0.1. docs/operation.md shows
// it with a Prometheus.
#include "http_get.hpp"
#include "serving.hpp"
#include "story.hpp"

#include <caisson/base/random.hpp>
#include <caisson/gate.hpp>
#include <caisson/observe/metrics/server.hpp>
#include <caisson/policies.hpp>
#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>
#include <caisson/policies/cooldown.hpp>
#include <caisson/policies/throttle.hpp>
#include <caisson/stack/layers/cache_layer.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/shedder_layer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using caisson::stack;

using rows = std::vector<std::int32_t>;

CAF_BEGIN_TYPE_ID_BLOCK(metrics_messages, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(metrics_messages, (rows))
CAF_END_TYPE_ID_BLOCK(metrics_messages)

namespace {

// -- what is behind the gates -------------------------------------------------

/// How a service is at present.
struct health {
  std::atomic<int> failing_percent{0};
  std::atomic<int> milliseconds{2};
  std::atomic<bool> mute{false};
  std::atomic<bool> over_quota{false};
};

/// Stands for the load of the machine.
class machine final : public caisson::load_source {
public:
  caisson::load_reading read(caisson::time_point, caisson::duration) override {
    return {.cpu = busy ? 1.0 : 0.3, .memory = 0.4};
  }

  std::atomic<bool> busy{false};
};

/// Answers after a while, fails, says when to come back, or says nothing.
class service final : public caf::event_based_actor {
public:
  service(caf::actor_config& cfg, std::shared_ptr<const health> h)
    : caf::event_based_actor(cfg), health_(std::move(h)) {}

  caf::behavior make_behavior() override {
    return {
      [this](std::int32_t) -> caf::result<std::int32_t> {
        auto x = make_response_promise<std::int32_t>();
        if (health_->mute)
          return mute_.emplace_back(x);
        open_.emplace(++number_, x);
        caisson::portable::later(
          this, std::chrono::milliseconds(health_->milliseconds), number_);
        return x;
      },
      [this](std::uint64_t number) {
        auto answer = open_.extract(number).mapped();
        if (health_->over_quota)
          answer.deliver(caisson::make_error(
            caisson::errc::rate_limited, {.policy = "", .retry_after = 200ms}));
        else if (random_.below(100)
                 < static_cast<std::uint64_t>(health_->failing_percent))
          answer.deliver(caf::make_error(caf::sec::runtime_error));
        else
          answer.deliver(std::int32_t{1});
      },
    };
  }

  void on_exit() override {
    open_.clear();
    mute_.clear();
  }

private:
  using promise = caf::typed_response_promise<std::int32_t>;

  std::shared_ptr<const health> health_;
  caisson::random_source random_{7};
  std::map<std::uint64_t, promise> open_;
  std::vector<promise> mute_;
  std::uint64_t number_ = 0;
};

/// Takes many rows at once.
caf::behavior table() {
  return {[](const rows& xs) { return xs; }};
}

// -- who calls ----------------------------------------------------------------

/// The call with this number.
using call_source = std::function<caisson::call(std::int32_t)>;

/// Sends a request every so often, whatever becomes of the others.
class caller final : public caf::event_based_actor {
public:
  caller(caf::actor_config& cfg, caf::actor to, std::chrono::milliseconds every,
         call_source next)
    : caf::event_based_actor(cfg), to_(std::move(to)), every_(every),
      next_(std::move(next)) {}

  caf::behavior make_behavior() override {
    tick();
    return {[this](bool) { tick(); }};
  }

private:
  void tick() {
    caisson::portable::later(this, every_, true);
    caisson::portable::ask(this, to_, caisson::portable::no_timeout,
                           next_(++number_))
      .then([](std::int32_t) {}, [](const caf::error&) {});
  }

  caf::actor to_;
  std::chrono::milliseconds every_;
  call_source next_;
  std::int32_t number_ = 0;
};

// -- the shop -----------------------------------------------------------------

struct shop {
  shop(caf::actor_system& sys, std::chrono::milliseconds day) {
    // An open breaker looks again after a twentieth of the day.
    auto pause = caisson::schedule::constant(day / 20);
    add(sys, "catalog", catalog, 8ms,
        stack{"catalog"}
          .deadline({.timeout = 500ms})
          .retrier({.max_attempts = 3,
                    .backoff = caisson::schedule::constant(10ms),
                    .idempotent = true})
          .breaker({.trip = caisson::breaker_trip::rate_by_time,
                    .failure_rate = 0.7,
                    .window_time = 1s,
                    .open = pause,
                    .eager_half_open = true}));
    add(sys, "payments", payments, 8ms,
        stack{"payments"}
          .deadline({.timeout = 2s})
          .semaphore({.permits = 8, .max_waiters = 60, .max_wait = 1s}));
    add(sys, "cart", cart, 10ms,
        stack{"cart"}
          .deadline({.timeout = day / 40})
          .breaker({.threshold = 10, .open = pause}));
    add_orders(sys, day);
    add_stock(sys, day);
    call(sys, "ledger",
         caisson::spawn_gate(
           sys, caisson::worker{sys.spawn(table)},
           stack{"ledger"}.batcher(
             {.max_items = 5, .max_delay = 40ms},
             caisson::batching::vectors<std::int32_t, std::int32_t>())),
         10ms, plain);
    add(sys, "search", search, 10ms,
        stack{"search"}
          .add<caisson::cooldown>({.max_time = 1s})
          .limiter({.rate = 1000, .burst = 100}));
  }

  ~shop() {
    for (const auto& x : actors)
      caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
  }

  shop(const shop&) = delete;
  shop& operator=(const shop&) = delete;

  /// Ends the service that was made last.
  void kill_last() {
    caf::anon_send_exit(actors.back(), caf::exit_reason::kill);
  }

  std::shared_ptr<health> catalog = std::make_shared<health>();
  std::shared_ptr<health> payments = std::make_shared<health>();
  std::shared_ptr<health> cart = std::make_shared<health>();
  std::shared_ptr<health> search = std::make_shared<health>();
  std::shared_ptr<machine> load = std::make_shared<machine>();
  std::vector<caf::actor> actors;

private:
  static caisson::call plain(std::int32_t) {
    return caisson::wrap(std::int32_t{1});
  }

  /// Orders and visits share the payments, orders being more important. While
  /// the machine is busy, visits are shed, and a throttle holds some back.
  void add_orders(caf::actor_system& sys, std::chrono::milliseconds day) {
    add(sys, "orders", payments, 8ms,
        stack{"orders"}
          .deadline({.timeout = 2s})
          .add<caisson::throttle>(
            {.window = 1s + day / 20, .multiplier = 1.2, .min_rate = 1})
          .add<caisson::shedder>({.in_flight_factor = 0,
                                  .sample = 250ms,
                                  .window = 500ms,
                                  .decrease = 0.2,
                                  .increase = 0.1},
                                 std::shared_ptr<caisson::load_source>{load})
          .add<caisson::adaptive_limit>(
            {.algorithm = caisson::limit_algorithm::vegas,
             .initial_limit = 10,
             .max_waiters = 20,
             .max_wait = 500ms,
             .partitions = {.list = {{"orders", 0.7}, {"visits", 0.3}}}}),
        [](std::int32_t n) {
          return n % 2 == 0 ? caisson::wrap(n)
                                .key("orders/" + std::to_string(n % 5))
                                .priority(1)
                            : caisson::wrap(n).key("visits");
        });
  }

  /// What is in stock depends on the catalog. Branches ask for it, and others,
  /// each with its own key. A new version is being introduced.
  void add_stock(caf::actor_system& sys, std::chrono::milliseconds day) {
    auto next = caf::actor_cast<caf::actor>(sys.spawn<service>(catalog));
    actors.push_back(next);
    add(sys, "stock", catalog, 8ms,
        stack{"stock"}
          .cache({.ttl = 200ms, .max_entries = 40},
                 caisson::cache_forms::keyed_by<std::int32_t>(
                   [](std::int32_t n) { return std::to_string(n % 10); }))
          .add<caisson::keyed<caisson::limiter>>(
            {{.rate = 20, .burst = 5, .max_wait = 30ms}, {.max_keys = 10}})
          .add<caisson::canary>({.stages = {0.2, 0.5},
                                 .dwell = day / 10,
                                 .min_calls = 5,
                                 .retry_after = day / 10},
                                next),
        [](std::int32_t n) {
          return caisson::wrap(n).key(n % 20 == 0  ? std::to_string(n)
                                      : n % 3 == 0 ? "branch"
                                                   : "shop");
        });
  }

  void add(caf::actor_system& sys, const std::string& name,
           const std::shared_ptr<health>& h, std::chrono::milliseconds every,
           stack s, call_source next = plain) {
    auto behind = caf::actor_cast<caf::actor>(sys.spawn<service>(h));
    auto gate = caisson::spawn_gate(sys, caisson::worker{behind}, std::move(s));
    call(sys, name, gate, every, std::move(next));
    actors.push_back(behind);
  }

  void call(caf::actor_system& sys, const std::string& name,
            const caisson::control_handle& gate,
            std::chrono::milliseconds every, call_source next) {
    caisson::publish_name(sys, name, gate);
    actors.push_back(caf::actor_cast<caf::actor>(
      sys.spawn<caller>(gate, every, std::move(next))));
    actors.push_back(gate);
  }
};

/// What happens, in hundredths of the day.
struct incident {
  int at;
  std::string_view text;
  void (*happens)(shop&);
};

constexpr incident bad_day[] = {
  {20, "the catalog begins to fail: 25 % of what it is asked",
   [](shop& x) { x.catalog->failing_percent = 25; }},
  {35, "payments take 100 ms, and the machine is busy",
   [](shop& x) {
     x.payments->milliseconds = 100;
     x.load->busy = true;
   }},
  {45, "the catalog fails", [](shop& x) { x.catalog->failing_percent = 100; }},
  {50, "the cart says nothing", [](shop& x) { x.cart->mute = true; }},
  {60, "the cart is back", [](shop& x) { x.cart->mute = false; }},
  {65, "payments are fast again",
   [](shop& x) {
     x.payments->milliseconds = 2;
     x.load->busy = false;
   }},
  {70, "the catalog is back, and the search has answered enough for now",
   [](shop& x) {
     x.catalog->failing_percent = 0;
     x.search->over_quota = true;
   }},
  {80, "the search dies", [](shop& x) { x.kill_last(); }},
};

// The value of a series in a page of metrics; -1 if it is not there.
double value_of(const std::string& page, const std::string& series) {
  auto at = page.find('\n' + series + ' ');
  return at == std::string::npos
           ? -1
           : std::strtod(page.c_str() + at + series.size() + 2, nullptr);
}

std::string decision(const std::string& gate, const std::string& kind,
                     const std::string& what) {
  return fmt::format("caisson_layer_decisions_total{{gate=\"{}\",layer=\"{}\","
                     "kind=\"{}\",decision=\"{}\"}}",
                     gate, kind, kind, what);
}

void check_metrics(const std::string& page, demo::story& story) {
  story.print("GET /metrics: {}", page.substr(0, page.find('\r')));
  std::map<std::string, std::vector<std::string>> expectations{
    {"catalog",
     {decision("catalog", "retrier", "retried"),
      decision("catalog", "breaker", "opened")}},
    {"payments", {decision("payments", "semaphore", "queued")}},
    {"cart", {decision("cart", "breaker", "opened")}},
    {"search",
     {decision("search", "limiter", "passed"),
      decision("search", "cooldown", "rejected")}},
  };
  for (const auto& [gate, all] : expectations)
    for (const auto& series : all) {
      auto value = value_of(page, series);
      story.print("{} {:.0f}", series, value);
      story.check(value > 0, "this has happened");
    }
}

int play(const std::string& address, std::chrono::milliseconds day) {
  demo::story story;
  caisson::portable::init_types<caf::id_block::metrics_messages>();
  caisson::system_config config;
  caisson::portable::add_types<caf::id_block::metrics_messages>(config);
  caf::actor_system system{config};
  // The day is short: what changes is published four times a second.
  caisson::metrics_server metrics{
    system, address, {.publish_every = 250ms, .keys_per_layer = 3}};
  story.print("http://127.0.0.1:{}/metrics", metrics.port());
  {
    shop s{system, day};
    auto start = std::chrono::steady_clock::now();
    for (const auto& x : bad_day) {
      std::this_thread::sleep_until(start + day * x.at / 100);
      story.print("{:>3} %  {}", x.at, x.text);
      x.happens(s);
    }
    std::this_thread::sleep_until(start + day);
    check_metrics(demo::http_get(metrics.port(), "/metrics"), story);
    for (const auto* name :
         {"catalog", "payments", "cart", "orders", "stock", "ledger", "search"})
      caisson::forget_name(system, name);
  }
  return story.end();
}

} // namespace

int main(int argc, char** argv) {
  auto options = demo::serving_of(argc, argv, "--address", "HOST:PORT",
                                  {"127.0.0.1:0", 4s});
  if (!options)
    return 2;
  try {
    return play(options->where, options->time);
  } catch (const std::exception& x) {
    fmt::print(stderr, "{}\n", x.what());
    return 2;
  }
}
