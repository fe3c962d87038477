// The cost of metrics for busy gates: publishing them, and being scraped.
#include <caisson/gate.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics/detail/families.hpp>
#include <caisson/observe/metrics/detail/text.hpp>
#include <caisson/observe/metrics/server.hpp>
#include <caisson/policy/pushback.hpp>
#include <caisson/testing/virtual_time.hpp>

#include "bench/measure.hpp"

#include <CLI/CLI.hpp>
#include <examples/http_get.hpp>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

namespace caisson::bench {
namespace {

using namespace std::chrono_literals;

struct setup {
  std::size_t gates = 1'000;
  int seconds = 10;
  int rounds = 3;
};

/// How metrics are used during a measurement.
struct usage {
  const char* name;
  bool collector;
  /// Zero: no scrape.
  std::chrono::milliseconds scrape_every;
  bool zero_counters = true;
};

constexpr usage usages[] = {
  {"no collector", false, 0ms},
  {"a collector, no scrape", true, 0ms},
  {"a scrape each 10 s", true, 10s},
  {"a scrape each second", true, 1s},
  {"a scrape each 100 ms", true, 100ms},
  {"the same, without counters that are zero", true, 100ms, false},
};

constexpr auto tick = 20ms;

/// Asks each of its gates once in a tick.
class client final : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, std::vector<caf::actor> gates,
         std::atomic<std::size_t>& answers)
    : caf::event_based_actor(cfg), gates_(std::move(gates)), answers_(answers) {
  }

  caf::behavior make_behavior() override {
    ask_all();
    return {[this](bool) { ask_all(); }};
  }

private:
  void ask_all() {
    portable::later(this, tick, true);
    auto count = [this] { answers_.fetch_add(1, std::memory_order_relaxed); };
    for (const auto& g : gates_)
      portable::ask(this, g, portable::no_timeout, std::int32_t{1})
        .then([count](std::int32_t) { count(); },
              [count](const caf::error&) { count(); });
  }

  std::vector<caf::actor> gates_;
  std::atomic<std::size_t>& answers_;
};

stack four_layers_with_deadline(std::string name) {
  return stack{std::move(name)}
    .deadline()
    .retrier({.idempotent = true})
    .breaker()
    .semaphore({.permits = 10});
}

caf::behavior echo() {
  return {[](std::int32_t x) { return x; }};
}

class gate_load {
public:
  explicit gate_load(const setup& s) : sys_(cfg_) {
    constexpr std::size_t gates_of_client = 10;
    std::vector<caf::actor> client_gates;
    for (std::size_t i = 0; i < s.gates; ++i) {
      if (i % gates_of_client == 0)
        behind_ = caf::actor_cast<caf::actor>(sys_.spawn(echo));
      client_gates.push_back(
        spawn_gate(sys_, worker{behind_},
                   four_layers_with_deadline(fmt::format("gate-{:05}", i))));
      all_.push_back(client_gates.back());
      if (client_gates.size() == gates_of_client || i + 1 == s.gates)
        clients_.push_back(caf::actor_cast<caf::actor>(sys_.spawn<client>(
          std::exchange(client_gates, {}), std::ref(answers_))));
    }
  }

  ~gate_load() {
    for (auto* actors : {&clients_, &all_})
      for (const auto& x : *actors)
        caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
  }

  gate_load(const gate_load&) = delete;
  gate_load& operator=(const gate_load&) = delete;

  caf::actor_system& system() { return sys_; }
  std::size_t answers() const { return answers_; }

private:
  system_config cfg_;
  std::atomic<std::size_t> answers_{0};
  caf::actor_system sys_;
  caf::actor behind_;
  std::vector<caf::actor> all_;
  std::vector<caf::actor> clients_;
};

struct result {
  /// Processor time of a call, in microseconds, without what the client of a
  /// scrape takes.
  std::vector<double> cost;
  std::vector<double> rates;
  std::vector<double> scrape_ms;
  std::size_t page = 0;
};

void measure(gate_load& c, const setup& s, const usage& u, result& out) {
  std::optional<metrics_server> server;
  if (u.collector)
    server.emplace(c.system(), "127.0.0.1:0",
                   metrics_config{.zero_counters = u.zero_counters});
  // The gates begin to publish.
  std::this_thread::sleep_for(1500ms);
  std::atomic<bool> done{false};
  std::atomic<double> of_client{0};
  std::thread scraper;
  auto busy = process_seconds();
  auto begin = wall_clock::now();
  auto before = c.answers();
  if (u.scrape_every > 0ms)
    scraper = std::thread{[&] {
      for (auto next = begin; !done; next += u.scrape_every) {
        std::this_thread::sleep_until(next);
        auto start = wall_clock::now();
        out.page = demo::http_get(server->port(), "/metrics").size();
        out.scrape_ms.push_back(1e3 * seconds_since(start));
        of_client = thread_seconds();
        // One that takes longer than the interval is not caught up with.
        next = std::max(next, wall_clock::now() - u.scrape_every);
      }
    }};
  std::this_thread::sleep_for(std::chrono::seconds(s.seconds));
  auto calls = static_cast<double>(c.answers() - before);
  out.rates.push_back(calls / seconds_since(begin));
  out.cost.push_back(1e6 * (process_seconds() - busy - of_client) / calls);
  done = true;
  if (scraper.joinable())
    scraper.join();
}

void run(const setup& s) {
  gate_load c{s};
  std::this_thread::sleep_for(1s);
  result results[std::size(usages)];
  // In turns, so that what else the machine does is the same for all.
  for (int round = 0; round < s.rounds; ++round) {
    progress("round {} of {}", round + 1, s.rounds);
    for (std::size_t i = 0; i < std::size(usages); ++i)
      measure(c, s, usages[i], results[i]);
  }
  fmt::print("{} gates with four layers, {:.0f} calls a second each\n\n"
             "| metrics | calls a second | processor time of a call | against "
             "none | a scrape | its page |\n"
             "| --- | --- | --- | --- | --- | --- |\n",
             s.gates, 1 / std::chrono::duration<double>(tick).count());
  auto base = median(results[0].cost);
  for (std::size_t i = 0; i < std::size(usages); ++i) {
    auto& x = results[i];
    auto cost = median(x.cost);
    fmt::print(
      "| {} | {:.0f} | {:.2f} µs | {:+.1f} % | {} | {} |\n", usages[i].name,
      median(x.rates), cost, 100 * (cost / base - 1),
      x.scrape_ms.empty() ? "-" : fmt::format("{:.0f} ms", median(x.scrape_ms)),
      x.page == 0
        ? "-"
        : fmt::format("{:.1f} MB", static_cast<double>(x.page) / 1e6));
  }
}

// What the parts cost for one gate, in microseconds of their own thread.
void run_parts() {
  constexpr auto steps = 2'000;
  virtual_time world;
  auto behind = caf::actor_cast<caf::actor>(world.system().spawn(echo));
  auto gate = spawn_gate(world, worker{behind}, four_layers_with_deadline("g"));
  for (std::int32_t i = 0; i < 1'000; ++i)
    world.request(gate, i);
  auto cost = [&] {
    auto begin = thread_seconds();
    for (auto i = 0; i < steps; ++i) {
      world.request(gate, std::int32_t{1});
      world.advance(1s);
    }
    return 1e6 * (thread_seconds() - begin) / steps;
  };
  auto without = cost();
  gate_watch watch{world};
  // A call, which is reported at once, as the last was a second ago.
  auto with = cost();
  auto gates = watch.gates();
  // As many as a page may have: families are found anew for each page.
  gates.resize(1'000, gates.front());
  for (std::uint32_t i = 0; i < gates.size(); ++i)
    gates[i].number = i + 1;
  auto of_each_gate = [&](auto make) {
    constexpr auto pages = 10;
    auto begin = thread_seconds();
    for (auto i = 0; i < pages; ++i)
      make();
    return 1e6 * (thread_seconds() - begin) / pages
           / static_cast<double>(gates.size());
  };
  std::size_t bytes = 0;
  auto text = of_each_gate([&] { bytes = detail::text_of(gates, {}).size(); });
  std::size_t families = 0;
  auto collect = of_each_gate(
    [&] { families = detail::families_of(gates, {}).size(); });
  auto all = detail::families_of(gates, {});
  auto serialize = of_each_gate(
    [&] { bytes = prometheus::TextSerializer{}.Serialize(all).size(); });
  fmt::print("\n| one gate | |\n| --- | --- |\n"
             "| a publication | {:.0f} µs |\n"
             "| its {:.0f} kB of a page of 1,000 gates | {:.1f} µs |\n"
             "| its {} families in a collector | {:.1f} µs |\n"
             "| their text by prometheus-cpp | {:.1f} µs |\n",
             with - without,
             static_cast<double>(bytes) / 1e3
               / static_cast<double>(gates.size()),
             text, families, collect, serialize);
  for (const auto& x : {caf::actor{gate}, behind})
    world.kill(x);
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  caisson::bench::setup s;
  CLI::App app{
    "What metrics cost busy gates.\n\nPrints the processor time that "
    "the program takes for a call, all its threads together: what "
    "it takes more with metrics, it has less for calls."};
  app.add_option("--gates", s.gates, "how many gates, default 1000")
    ->check(CLI::Range(1, 100'000));
  app.add_option("--seconds", s.seconds, "of each measurement, default 10")
    ->check(CLI::Range(1, 3'600));
  app.add_option("--rounds", s.rounds, "how many of each, default 3")
    ->check(CLI::Range(1, 1'000));
  CLI11_PARSE(app, argc, argv);
  caisson::init_types();
  caisson::bench::run_parts();
  std::fflush(stdout);
  caisson::bench::run(s);
}
