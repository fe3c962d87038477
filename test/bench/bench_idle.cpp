// The cost of many gates that have nothing to do but wait.
#include <caisson/gate.hpp>
#include <caisson/policy/pushback.hpp>

#include "bench/load.hpp"
#include "bench/measure.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;

namespace caisson::bench {
namespace {

struct two_threads : system_config {
  two_threads() { portable::set_threads(*this, 2); }
};

// Holds a permit of each gate for an hour.
class holder final : public caf::event_based_actor {
public:
  holder(caf::actor_config& cfg, std::vector<caf::actor> from, tally& t)
    : caf::event_based_actor(cfg), from_(std::move(from)), tally_(t) {}

  caf::behavior make_behavior() override {
    for (const auto& x : from_)
      portable::ask(this, x, portable::no_timeout, acquire{.time_left = 1h})
        .then([this](const permit&) { ++tally_.kept; }, [](caf::error&) {});
    return {[](int) {}};
  }

private:
  std::vector<caf::actor> from_;
  tally& tally_;
};

enum class pending { nothing, direct, calls, leases };

constexpr std::array<std::pair<pending, std::string_view>, 4> kinds = {{
  {pending::nothing, "no actors"},
  {pending::direct, "a pending request each, no gates"},
  {pending::calls, "gates, a call of one hour each"},
  {pending::leases, "gates, a lease of one hour each"},
}};

// A deadline of 50 ms somewhere else in the system: how late it fires.
class watch {
public:
  watch(caf::actor_system& sys, tally& t)
    : self_(sys),
      mute_(caf::actor_cast<caf::actor>(sys.spawn<keeper>(std::ref(t)))),
      gate_(spawn_deadline(sys, worker{mute_}, {.timeout = 50ms})) {}

  ~watch() {
    stop_gate(gate_);
    stop_gate(mute_);
  }

  void look() {
    auto start = wall_clock::now();
    portable::ask_blocking(self_, gate_, portable::no_timeout,
                           static_cast<int>(keep))
      .receive([](int) {}, [](caf::error&) {});
    late_.push_back(1e3 * (seconds_since(start) - 0.05));
  }

  [[nodiscard]] double typical() const { return median(late_); }
  [[nodiscard]] double worst() const {
    return *std::max_element(late_.begin(), late_.end());
  }

private:
  caf::scoped_actor self_;
  caf::actor mute_;
  caf::actor gate_;
  std::vector<double> late_;
};

// Spawns what waits; returns what is to be ended afterwards.
std::vector<caf::actor> populate(caf::actor_system& sys, pending what,
                                 std::size_t n, tally& t) {
  std::vector<caf::actor> all;
  if (what == pending::nothing)
    return all;
  auto add = [&all](auto x) {
    all.push_back(caf::actor_cast<caf::actor>(x));
    return all.back();
  };
  auto w = add(sys.spawn<keeper>(std::ref(t)));
  auto request = caf::make_message(wrap(static_cast<int>(keep)).within(1h));
  std::vector<caf::actor> gates;
  for (std::size_t i = 0; i < n; ++i) {
    if (what == pending::direct) {
      add(sys.spawn<caller>(w, request_for(keep), std::size_t{1}, std::ref(t)));
      continue;
    }
    gates.push_back(add(spawn_semaphore(
      sys, what == pending::calls ? worker{w} : worker{}, {.permits = 10})));
    if (what == pending::calls)
      add(
        sys.spawn<caller>(gates.back(), request, std::size_t{1}, std::ref(t)));
  }
  if (what == pending::leases)
    add(sys.spawn<holder>(gates, std::ref(t)));
  while (t.kept < n)
    std::this_thread::sleep_for(1ms);
  return all;
}

void run(pending what, std::string_view name, std::size_t n, double seconds) {
  progress("{} × {}", n, name);
  tally kept;
  tally other;
  two_threads cfg;
  caf::actor_system sys{cfg};
  auto all = populate(sys, what, n, kept);
  std::this_thread::sleep_for(500ms);
  auto start = wall_clock::now();
  auto before = process_seconds();
  while (seconds_since(start) < seconds)
    std::this_thread::sleep_for(10ms);
  auto share = (process_seconds() - before) / seconds_since(start);
  watch w{sys, other};
  start = wall_clock::now();
  while (seconds_since(start) < seconds)
    w.look();
  fmt::print("| {} | {:.1f} % | {:.1f} ms | {:.1f} ms |\n", name, 100 * share,
             w.typical(), w.worst());
  std::fflush(stdout);
  for (const auto& x : all)
    stop_gate(x);
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  using namespace caisson::bench;
  std::size_t gates = 10'000;
  double seconds = 5;
  CLI::App app{"What gates cost that wait for something that is an hour away.\n"
               "\nPrints the processor time that the system takes while "
               "nothing happens, as a share of one core,\nand how late a "
               "deadline of 50 ms of another gate fires (typically, and at "
               "worst)."};
  app.add_option("--gates", gates, "how many, default 10000");
  app.add_option("--seconds", seconds,
                 "how long each measurement takes, default 5");
  CLI11_PARSE(app, argc, argv);
  caisson::init_types();
  fmt::print("| {} × | of a core | a deadline is late by | at worst |\n"
             "| --- | --- | --- | --- |\n",
             gates);
  for (const auto& [what, name] : kinds)
    run(what, name, gates, seconds);
}
