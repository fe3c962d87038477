// The cost when everything that a gate holds ends at once, and how long
// the gate is deaf meanwhile.
#include <caisson/policy/pushback.hpp>
#include <caisson/testing/virtual_time.hpp>

#include "bench/load.hpp"
#include "bench/measure.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace caisson::bench {
namespace {

// -- where a storm takes place ------------------------------------------------

// The real scheduler, or virtual time on the calling thread.
class stage {
public:
  virtual ~stage() = default;
  virtual caf::actor_system& system() = 0;
  virtual time_point now() = 0;
  /// Lets the actors run until `done`.
  virtual void run_until(const std::function<bool()>& done) = 0;
  virtual void sleep_until(time_point t) = 0;
  /// A request that is answered at once, if nothing stands in its way.
  virtual void ping(const caf::actor& gate) = 0;
  virtual std::int64_t in_progress(const caf::actor& gate) = 0;
};

constexpr auto longest = std::numeric_limits<std::size_t>::max();

class virtual_stage final : public stage {
public:
  caf::actor_system& system() override { return world_.system(); }
  time_point now() override { return world_.now(); }
  void run_until(const std::function<bool()>& done) override {
    world_.run_until_idle(longest);
    if (!done())
      throw std::runtime_error{"a storm does not end"};
  }
  void sleep_until(time_point t) override { world_.advance_to(t); }
  void ping(const caf::actor& gate) override {
    world_.request(gate, static_cast<int>(answer_now));
  }
  std::int64_t in_progress(const caf::actor& gate) override {
    return world_.request(gate, get_status{})
      .value<status>()
      .metrics.at("in_progress");
  }

private:
  virtual_time world_;
};

void ping(caf::scoped_actor& self, const caf::actor& gate) {
  portable::ask_blocking(self, gate, portable::no_timeout,
                         static_cast<int>(answer_now))
    .receive([](int) {}, [](caf::error&) {});
}

class real_stage final : public stage {
public:
  real_stage() : system_(config_), self_(system_) {}

  caf::actor_system& system() override { return system_; }
  time_point now() override { return system_.clock().now(); }
  void run_until(const std::function<bool()>& done) override {
    auto start = wall_clock::now();
    while (!done()) {
      if (seconds_since(start) > 600)
        throw std::runtime_error{"a storm does not end within ten minutes"};
      std::this_thread::sleep_for(100us);
    }
  }
  void sleep_until(time_point t) override { std::this_thread::sleep_until(t); }
  void ping(const caf::actor& gate) override { bench::ping(self_, gate); }
  std::int64_t in_progress(const caf::actor& gate) override {
    std::int64_t result = 0;
    portable::ask_blocking(self_, gate, portable::no_timeout, get_status{})
      .receive([&](const status& s) { result = s.metrics.at("in_progress"); },
               [](caf::error&) {});
    return result;
  }

private:
  struct two_threads : system_config {
    two_threads() { portable::set_threads(*this, 2); }
  };
  two_threads config_;
  caf::actor_system system_;
  caf::scoped_actor self_;
};

// Asks one request after the other from its own thread.
class pinger {
public:
  pinger(stage& where, caf::actor gate)
    : thread_([this, &sys = where.system(), gate = std::move(gate)] {
        caf::scoped_actor self{sys};
        while (!stopped_) {
          auto start = wall_clock::now();
          bench::ping(self, gate);
          longest_ = std::max(longest_, seconds_since(start));
          std::this_thread::sleep_for(200us);
        }
      }) {}

  /// The longest wait for an answer, in seconds.
  double stop() {
    stopped_ = true;
    thread_.join();
    return longest_;
  }

private:
  std::atomic<bool> stopped_{false};
  double longest_ = 0;
  std::thread thread_;
};

// -- the storms ---------------------------------------------------------------

// Everything is in place, and the gate holds its calls.
struct scene {
  /// Whose calls end.
  caf::actor gate;
  std::function<void()> strike;
  /// Callers that end without an answer; 0: all calls are answered.
  std::size_t dying_callers = 0;
  /// If it strikes by itself: when.
  time_point when = never;
  /// To be ended afterwards.
  std::vector<caf::actor> further_actors = {};
  /// Nobody else refers to them.
  std::vector<caf::actor> callers = {};
};

class maker {
public:
  maker(stage& where, tally& t, std::size_t n)
    : where_(where), tally_(t), n_(n) {}

  scene all_answered() {
    auto w = worker_actor();
    auto s = held_by_worker(w);
    s.strike = [w] { portable::send_anon(w, static_cast<int>(answer_kept)); };
    return s;
  }

  scene worker_dies() {
    auto w = worker_actor();
    auto s = held_by_worker(w);
    s.strike = [w] { kill(w); };
    return s;
  }

  scene outer_gate_stops() {
    scene s;
    auto w = worker_actor();
    s.gate = gate(w, four_layers());
    auto outer = gate(s.gate, stack{gate_config{.default_deadline = unlimited,
                                                .max_calls = 16'000'000}});
    s.callers = {spawn_caller(outer, request_for(keep), n_)};
    wait_for_kept(n_);
    s.strike = [outer] { stop_gate(outer); };
    s.further_actors = {outer, w};
    return s;
  }

  scene deadlines_pass() {
    auto w = worker_actor();
    auto g = gate(w, four_layers());
    return expiring(w, g, [this] { return tally_.kept == n_; });
  }

  scene waiting_deadlines_pass() {
    auto w = worker_actor();
    auto g = gate(
      w, four_layers().semaphore(
           {.permits = 1, .max_waiters = static_cast<std::uint32_t>(n_ - 1)}));
    return expiring(w, g, [this, g] {
      return where_.in_progress(g) == static_cast<std::int64_t>(n_);
    });
  }

  scene callers_die(std::size_t callers) {
    auto w = worker_actor();
    scene s;
    s.gate = gate(w, four_layers(true));
    s.further_actors = {w};
    s.dying_callers = callers;
    for (std::size_t i = 0; i < callers; ++i)
      s.callers.push_back(
        spawn_caller(s.gate, request_for(fail), n_ / callers));
    where_.run_until([this] { return tally_.failed == n_; });
    where_.ping(s.gate);
    s.strike = [all = s.callers] {
      for (const auto& x : all)
        kill(x);
    };
    return s;
  }

  scene cancelled_one_by_one() {
    auto w = worker_actor();
    scene s;
    s.gate = gate(w, four_layers());
    s.further_actors = {w};
    auto c = spawn_caller(s.gate, request_for(keep), n_);
    s.callers = {c};
    wait_for_kept(n_);
    s.strike = [c] { portable::send_anon(c, drain{}); };
    return s;
  }

private:
  static void kill(const caf::actor& x) {
    caf::anon_send_exit(x, caf::exit_reason::kill);
  }

  template <class T, class... Ts>
  caf::actor spawn(Ts&&... xs) {
    return caf::actor_cast<caf::actor>(
      where_.system().spawn<T>(std::forward<Ts>(xs)...));
  }

  caf::actor worker_actor() { return spawn<keeper>(std::ref(tally_)); }

  caf::actor gate(const caf::actor& behind, stack s) {
    return spawn_gate(where_.system(), worker{behind}, std::move(s));
  }

  caf::actor spawn_caller(const caf::actor& to, caf::message request,
                          std::size_t n) {
    return spawn<caller>(to, std::move(request), n, std::ref(tally_));
  }

  void wait_for_kept(std::size_t n) {
    where_.run_until([&] { return tally_.kept == n; });
  }

  scene held_by_worker(const caf::actor& w) {
    scene s;
    s.gate = gate(w, four_layers());
    s.further_actors = {w};
    s.callers = {spawn_caller(s.gate, request_for(keep), n_)};
    wait_for_kept(n_);
    return s;
  }

  // Tries again with more time if the calls come too slowly.
  scene expiring(const caf::actor& w, const caf::actor& g,
                 const std::function<bool()>& all_held) {
    for (auto lead = 500ms + static_cast<long>(n_) * 20us;; lead *= 2) {
      scene s;
      s.gate = g;
      s.further_actors = {w};
      s.when = where_.now() + lead;
      tally_.answered = 0;
      tally_.kept = 0;
      s.callers = {spawn_caller(
        g, caf::make_message(wrap(static_cast<int>(keep)).by(s.when)), n_)};
      where_.run_until([&] { return where_.now() >= s.when || all_held(); });
      if (where_.now() + 10ms < s.when)
        return s;
      where_.run_until([&] { return tally_.answered == n_; });
    }
  }

  stage& where_;
  tally& tally_;
  std::size_t n_;
};

struct storm {
  std::string name;
  std::function<scene(maker&, std::size_t)> make;
};

std::vector<storm> storms() {
  return {
    {"the worker answers all (no storm)",
     [](maker& m, std::size_t) { return m.all_answered(); }},
    {"the worker dies", [](maker& m, std::size_t) { return m.worker_dies(); }},
    {"a gate in front is stopped",
     [](maker& m, std::size_t) { return m.outer_gate_stops(); }},
    {"all deadlines pass, calls with the worker",
     [](maker& m, std::size_t) { return m.deadlines_pass(); }},
    {"all deadlines pass, calls wait for a permit",
     [](maker& m, std::size_t) { return m.waiting_deadlines_pass(); }},
    {"all callers die, one call each",
     [](maker& m, std::size_t n) { return m.callers_die(n); }},
    {"the only caller dies",
     [](maker& m, std::size_t) { return m.callers_die(1); }},
    {"calls are cancelled one by one",
     [](maker& m, std::size_t) { return m.cancelled_one_by_one(); }},
  };
}

// -- measurement --------------------------------------------------------------

struct result {
  double seconds = 0;
  /// The longest wait of another request to the same gate; real time only.
  double wait = 0;
};

// Until the callers have their answers and the gate holds nothing.
void wait_for_end(stage& where, const scene& s, const tally& t, std::size_t n) {
  if (s.dying_callers == 0) {
    where.run_until([&] { return t.answered == n; });
    where.ping(s.gate);
    return;
  }
  where.run_until([&] { return t.callers_ended == s.dying_callers; });
  while (where.in_progress(s.gate) > 0)
    where.ping(s.gate);
}

void clean_up(const scene& s) {
  for (const auto& x : s.callers)
    stop_gate(x);
  for (const auto& x : s.further_actors)
    stop_gate(x);
  stop_gate(s.gate);
}

result measure_real(const storm& what, std::size_t n) {
  tally t;
  real_stage where;
  maker m{where, t, n};
  auto s = what.make(m, n);
  pinger other{where, s.gate};
  if (s.when != never)
    where.sleep_until(s.when);
  result r;
  auto start = wall_clock::now();
  if (s.strike)
    s.strike();
  wait_for_end(where, s, t, n);
  r.seconds = seconds_since(start);
  r.wait = other.stop();
  clean_up(s);
  return r;
}

// Processor time, that of callers and worker included.
double measure_virtual(const storm& what, std::size_t n) {
  tally t;
  virtual_stage where;
  maker m{where, t, n};
  auto s = what.make(m, n);
  auto start = thread_seconds();
  if (s.strike)
    s.strike();
  else
    where.sleep_until(s.when);
  wait_for_end(where, s, t, n);
  auto took = thread_seconds() - start;
  clean_up(s);
  where.run_until([] { return true; });
  return took;
}

struct options {
  std::vector<std::size_t> sizes{1'000, 10'000, 100'000};
  std::string only;
  double patience = 60;
};

void run(const storm& what, const options& o) {
  std::size_t last = 0;
  double took = 0;
  for (auto n : o.sizes) {
    auto factor = static_cast<double>(n) / static_cast<double>(last);
    if (last > 0 && took * factor * factor > o.patience && took > 1) {
      progress("{}: {} calls are left out, they could take {:.0f} s", what.name,
               n, took * factor * factor);
      fmt::print("| {} | {} | — | — | — | — |\n", what.name, n);
      continue;
    }
    progress("{}: {} calls", what.name, n);
    auto r = measure_real(what, n);
    auto v = measure_virtual(what, n);
    auto per_call = 1e6 / static_cast<double>(n);
    fmt::print("| {} | {} | {:.1f} ms | {:.2f} µs | {:.1f} ms | {:.2f} µs |\n",
               what.name, n, r.seconds * 1e3, r.seconds * per_call,
               r.wait * 1e3, v * per_call);
    std::fflush(stdout);
    last = n;
    took = std::max(r.seconds, v);
  }
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  using namespace caisson::bench;
  options o;
  CLI::App app{"Ends all calls that a gate of four layers holds at once.\n\n"
               "Prints, for each storm and number of calls: until the last "
               "one is over, by the clock;\nthat per call; the longest that "
               "another request to the same gate waited meanwhile;\nand the "
               "processor time per call in virtual time, callers and worker "
               "included."};
  app.add_option("--sizes", o.sizes,
                 "numbers of calls, default 1000 10000 "
                 "100000");
  app.add_option("--only", o.only, "only storms whose name contains this");
  app.add_option("--patience", o.patience,
                 "seconds: leaves out a size that could take longer, if the "
                 "time grew with the square; default 60");
  CLI11_PARSE(app, argc, argv);
  caisson::init_types();
  fmt::print("| what ends the calls | calls | all over after | per call | "
             "another request waits | in virtual time, per call |\n"
             "| --- | --- | --- | --- | --- | --- |\n");
  for (const auto& x : storms())
    if (x.name.find(o.only) != std::string::npos)
      run(x, o);
}
