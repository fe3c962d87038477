// What metrics cost gates that are busy: publishing them, and being scraped.
#include <caisson/gate.hpp>
#include <caisson/metrics/server.hpp>

#include "bench/measure.hpp"

#include <CLI/CLI.hpp>
#include <http_get.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

namespace caisson::bench {
namespace {

using namespace std::chrono_literals;

struct setup {
  std::size_t gates = 1'000;
  int seconds = 3;
  int rounds = 5;
};

/// How metrics are used during a measurement.
struct usage {
  const char* name;
  bool collector;
  /// Zero: no scrape.
  std::chrono::milliseconds scrape_every;
};

constexpr usage usages[] = {
  {"no collector", false, 0ms},
  {"a collector, no scrape", true, 0ms},
  {"a scrape each second", true, 1s},
  {"a scrape each 100 ms", true, 100ms},
};

/// Keeps one request under way at each of its gates.
class client final : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, std::vector<caf::actor> gates,
         std::atomic<std::size_t>& answers)
    : caf::event_based_actor(cfg), gates_(std::move(gates)), answers_(answers) {
  }

  caf::behavior make_behavior() override {
    for (std::size_t i = 0; i < gates_.size(); ++i)
      ask(i);
    return {[](bool) {}};
  }

private:
  void ask(std::size_t i) {
    auto next = [this, i] {
      answers_.fetch_add(1, std::memory_order_relaxed);
      ask(i);
    };
    portable::ask(this, gates_[i], portable::no_timeout, std::int32_t{1})
      .then([next](std::int32_t) { next(); },
            [next](const caf::error&) { next(); });
  }

  std::vector<caf::actor> gates_;
  std::atomic<std::size_t>& answers_;
};

caf::behavior echo() {
  return {[](std::int32_t x) { return x; }};
}

class crowd {
public:
  explicit crowd(const setup& s) : sys_(cfg_) {
    constexpr std::size_t gates_of_client = 10;
    std::vector<caf::actor> mine;
    for (std::size_t i = 0; i < s.gates; ++i) {
      if (i % gates_of_client == 0)
        behind_ = caf::actor_cast<caf::actor>(sys_.spawn(echo));
      mine.push_back(spawn_gate(sys_, worker{behind_},
                                stack{fmt::format("gate-{:05}", i)}
                                  .deadline()
                                  .retrier({.idempotent = true})
                                  .breaker()
                                  .semaphore({.permits = 10})));
      all_.push_back(mine.back());
      if (mine.size() == gates_of_client || i + 1 == s.gates)
        clients_.push_back(caf::actor_cast<caf::actor>(
          sys_.spawn<client>(std::exchange(mine, {}), std::ref(answers_))));
    }
  }

  ~crowd() {
    for (auto* actors : {&clients_, &all_})
      for (const auto& x : *actors)
        caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
  }

  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

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
  std::vector<double> rates;
  std::vector<double> scrape_ms;
  std::size_t page = 0;
};

void measure(crowd& c, const setup& s, const usage& u, result& out) {
  std::optional<metrics_server> server;
  if (u.collector)
    server.emplace(c.system(), "127.0.0.1:0");
  // The gates begin to publish.
  std::this_thread::sleep_for(u.collector ? 1500ms : 200ms);
  std::atomic<bool> done{false};
  std::thread scraper;
  if (u.scrape_every > 0ms)
    scraper = std::thread{[&] {
      for (auto next = wall_clock::now(); !done; next += u.scrape_every) {
        std::this_thread::sleep_until(next);
        auto begin = wall_clock::now();
        out.page = demo::http_get(server->port(), "/metrics").size();
        out.scrape_ms.push_back(1e3 * seconds_since(begin));
        // One that takes longer than the interval is not caught up with.
        next = std::max(next, wall_clock::now() - u.scrape_every);
      }
    }};
  auto begin = wall_clock::now();
  auto before = c.answers();
  std::this_thread::sleep_for(std::chrono::seconds(s.seconds));
  out.rates.push_back(static_cast<double>(c.answers() - before)
                      / seconds_since(begin));
  done = true;
  if (scraper.joinable())
    scraper.join();
}

void run(const setup& s) {
  crowd c{s};
  std::this_thread::sleep_for(1s);
  result results[std::size(usages)];
  // In turns, so that what else the machine does is the same for all.
  for (int round = 0; round < s.rounds; ++round) {
    progress("round {} of {}", round + 1, s.rounds);
    for (std::size_t i = 0; i < std::size(usages); ++i)
      measure(c, s, usages[i], results[i]);
  }
  fmt::print("{} gates with four layers, {} threads\n\n"
             "| metrics | calls a second | against none | a scrape | its page "
             "|\n| --- | --- | --- | --- | --- |\n",
             s.gates, std::thread::hardware_concurrency());
  auto base = median(results[0].rates);
  for (std::size_t i = 0; i < std::size(usages); ++i) {
    auto& x = results[i];
    auto rate = median(x.rates);
    fmt::print(
      "| {} | {:.0f} | {:+.1f} % | {} | {} |\n", usages[i].name, rate,
      100 * (rate / base - 1),
      x.scrape_ms.empty() ? "-" : fmt::format("{:.0f} ms", median(x.scrape_ms)),
      x.page == 0
        ? "-"
        : fmt::format("{:.1f} MB", static_cast<double>(x.page) / 1e6));
  }
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  caisson::bench::setup s;
  CLI::App app{"What metrics cost gates that are as busy as the machine "
               "allows.\n\nPrints the median number of calls a second through "
               "all gates, and how long a scrape takes."};
  app.add_option("--gates", s.gates, "how many gates, default 1000")
    ->check(CLI::Range(1, 100'000));
  app.add_option("--seconds", s.seconds, "of each measurement, default 3")
    ->check(CLI::Range(1, 3'600));
  app.add_option("--rounds", s.rounds, "how many of each, default 5")
    ->check(CLI::Range(1, 1'000));
  CLI11_PARSE(app, argc, argv);
  caisson::init_types();
  caisson::bench::run(s);
}
