// Gates from a file that changes while calls are in flight.
#include "story.hpp"

#include <caisson/config/gate_set.hpp>
#include <caisson/testing/scripted_worker.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

using namespace std::chrono_literals;

namespace {

// A file of its own for this process.
class scratch_file {
public:
  scratch_file()
    : path_(std::filesystem::temp_directory_path()
            / ("gates-" + std::to_string(getpid()) + ".toml")) {}
  ~scratch_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  void write(const std::string& text) const { std::ofstream{path_} << text; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};
  scratch_file file;

  caisson::scripted_worker bank{world};
  caisson::worker_names workers;
  workers.add("bank", caisson::worker{bank.handle()});
  file.write("[gates.payments]\n"
             "worker = 'bank'\n"
             "[[gates.payments.layer]]\n"
             "kind = 'breaker'\n"
             "threshold = 3\n"
             "[[gates.payments.layer]]\n"
             "kind = 'semaphore'\n"
             "permits = 1\n"
             "max_waiters = 5\n");
  auto gates = caisson::spawn_gates(world, file.path(), workers);
  auto payments = gates.calls("payments");

  auto reload = [&] {
    auto report = world.request(gates.controller(), caisson::reload{})
                    .value<caisson::reload_report>();
    for (const auto& x : report.changes)
      story.print("  {} {}: {}", x.gate, x.layer, x.what);
    // From the line on: the file's name is another in each run.
    for (const auto& x : report.problems)
      story.print("  line {}", x.substr(file.path().string().size() + 1));
    return report.ok();
  };

  story.print("two calls, one permit");
  auto first = world.request(payments, std::int32_t{1});
  auto second = world.request(payments, std::int32_t{2});
  story.check(bank.open() == 1, "the second call waits");

  world.advance(1s);
  story.print("a file with a mistake:");
  file.write("[gates.payments]\n"
             "worker = 'bank'\n"
             "[[gates.payments.layer]]\n"
             "kind = 'breaker'\n"
             "threshold = 0\n");
  story.check(!reload(), "it is refused");

  world.advance(1s);
  story.print("a good one, with a limiter in place of the semaphore:");
  file.write("[gates.payments]\n"
             "worker = 'bank'\n"
             "[[gates.payments.layer]]\n"
             "kind = 'breaker'\n"
             "threshold = 5\n"
             "[[gates.payments.layer]]\n"
             "kind = 'limiter'\n"
             "rate = 100\n");
  story.check(reload(), "it is in force");

  auto third = world.request(payments, std::int32_t{3});
  story.print("the bank has calls 1 and 3: {}", bank.open() == 2);
  bank.answer(std::int32_t{10});
  story.print("call 1: {}; now the bank has call 2, too: {}",
              demo::text_of(first), bank.open() == 2);
  bank.answer(std::int32_t{30});
  bank.answer(std::int32_t{20});
  story.print("call 3: {}, call 2: {}", demo::text_of(third),
              demo::text_of(second));
  story.check(demo::text_of(second) == "20", "it waited for its permit");

  gates = {};
  world.kill(bank.handle());
  return story.end();
}

/* It prints:

  0.000 s  two calls, one permit
  1.000 s  a file with a mistake:
  1.000 s    line 5:13: gates.payments.layer[0].threshold: 0 is out of range, allowed: 1 to 1000000
  2.000 s  a good one, with a limiter in place of the semaphore:
  2.000 s    payments breaker: threshold = 5 (was 3)
  2.000 s    payments semaphore: removed
  2.000 s    payments limiter: added
  2.000 s  the bank has calls 1 and 3: true
  2.000 s  call 1: 10; now the bank has call 2, too: true
  2.000 s  call 3: 30, call 2: 20
*/
