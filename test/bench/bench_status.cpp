// The cost of a status while a gate holds many calls, and after they have gone.
#include <caisson/testing/virtual_time.hpp>

#include "bench/load.hpp"
#include "bench/measure.hpp"

#include <CLI/CLI.hpp>

#include <limits>
#include <stdexcept>

namespace caisson::bench {
namespace {

constexpr auto longest = std::numeric_limits<std::size_t>::max();

// One gate in virtual time. All times are processor time of the only thread.
class scene {
public:
  explicit scene(std::size_t n) : n_(n) {
    worker_ = caf::actor_cast<caf::actor>(
      world_.system().spawn<keeper>(std::ref(tally_)));
    gate_ = spawn_gate(world_.system(), worker{worker_}, four_layers());
    world_.run_until_idle();
  }

  ~scene() {
    for (const auto& x : {caller_, gate_, worker_})
      stop_gate(x);
    world_.run_until_idle(longest);
  }

  void fill() {
    caller_ = caf::actor_cast<caf::actor>(world_.system().spawn<caller>(
      gate_, request_for(keep), n_, std::ref(tally_)));
    world_.run_until_idle(longest);
    expect(tally_.kept == n_, "not all calls are held");
  }

  void empty() {
    world_.send(worker_, static_cast<int>(answer_kept));
    world_.run_until_idle(longest);
    expect(tally_.answered == n_, "not all calls are answered");
  }

  /// In microseconds.
  double status_cost() {
    return cost([this] { world_.request(gate_, get_status{}); });
  }

  /// One `cancelled` for a call that the gate does not hold, in microseconds.
  double cancelled_cost() {
    return cost([this] { world_.send(gate_, cancelled{1}); });
  }

private:
  static void expect(bool right, const char* otherwise) {
    if (!right)
      throw std::logic_error{otherwise};
  }

  template <class F>
  static double cost(F f) {
    std::vector<double> took;
    for (int i = 0; i < 31; ++i) {
      auto start = thread_seconds();
      f();
      took.push_back(1e6 * (thread_seconds() - start));
    }
    return median(std::move(took));
  }

  std::size_t n_;
  tally tally_;
  virtual_time world_;
  caf::actor worker_;
  caf::actor gate_;
  caf::actor caller_;
};

void run(std::size_t n) {
  progress("{} calls", n);
  malloc_trim(0);
  auto resident = resident_mib();
  auto heap = heap_mib();
  scene s{n};
  s.fill();
  auto full = s.status_cost();
  auto resident_full = resident_mib() - resident;
  auto heap_full = heap_mib() - heap;
  s.empty();
  auto idle = s.status_cost();
  auto idle_cancelled = s.cancelled_cost();
  malloc_trim(0);
  fmt::print("| {} | {:.1f} µs | {:.1f} µs | {:.1f} µs | {:.1f} MiB | {:.1f} "
             "MiB | {:.1f} MiB | {:.1f} MiB |\n",
             n, full, idle, idle_cancelled, heap_full, heap_mib() - heap,
             resident_full, resident_mib() - resident);
  std::fflush(stdout);
}

} // namespace
} // namespace caisson::bench

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes{1, 1'000, 100'000, 1'000'000};
  CLI::App app{"What a status costs: with many calls held, and after that.\n\n"
               "Prints, for each number of calls (at most 1000000): processor "
               "time of a status with so many\ncalls held; the same when they "
               "are over, and of a `cancelled` then; memory of all actors,\n"
               "at the peak and after it, as allocated by the program and as "
               "resident in the machine."};
  app.add_option("--sizes", sizes,
                 "numbers of calls, default 1 1000 100000 1000000");
  CLI11_PARSE(app, argc, argv);
  caisson::init_types();
  fmt::print("| calls held | status | status afterwards | `cancelled` "
             "afterwards | heap, peak | heap, afterwards | resident, peak | "
             "resident, afterwards |\n"
             "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (auto n : sizes)
    caisson::bench::run(n);
}
