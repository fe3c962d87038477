// A program whose gates an operator looks at and controls by `caisson ctl`.
//
//   control [--control FILE] [--seconds N]
//
// Without arguments it plays the operator, too. With them it runs for N seconds
// (60) with the control file FILE, and others can: see docs/control.md.
#include "serving.hpp"
#include "story.hpp"

#include <caisson/config/gate_set.hpp>
#include <caisson/observe/control/server.hpp>

#include <ctl/command.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace std::chrono_literals;

namespace {

constexpr auto file_of_gates = R"([gates.payments]
worker = "bank"
[[gates.payments.layer]]
kind = "deadline"
timeout = "500ms"
[[gates.payments.layer]]
kind = "breaker"
threshold = 5

[gates.catalog]
worker = "stock"
[[gates.catalog.layer]]
kind = "limiter"
rate = 1000
)";

/// A directory that goes with the process.
class scratch {
public:
  scratch()
    : path_(std::filesystem::temp_directory_path()
            / ("control-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  [[nodiscard]] std::string file(const char* name) const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

caisson::worker_names workers() {
  caisson::worker_names out;
  for (const auto* name : {"bank", "stock"})
    out.add_factory(name, [](caf::actor_system& sys) {
      return caf::expected<caf::actor>{sys.spawn(
        []() -> caf::behavior { return {[](std::int32_t x) { return x; }}; })};
    });
  return out;
}

/// Calls both gates now and then; the answers do not matter.
class customers final : public caf::event_based_actor {
public:
  customers(caf::actor_config& cfg, std::vector<caf::actor> gates)
    : caf::event_based_actor(cfg), gates_(std::move(gates)) {}

  caf::behavior make_behavior() override {
    call();
    return {[this](bool) { call(); }};
  }

private:
  void call() {
    caisson::portable::later(this, 5ms, true);
    for (const auto& gate : gates_)
      caisson::portable::ask(this, gate, caisson::portable::no_timeout,
                             std::int32_t{1})
        .then([](std::int32_t) {}, [](const caf::error&) {});
  }

  std::vector<caf::actor> gates_;
};

// -- with an operator ---------------------------------------------------------

/// What somebody types, and what is printed.
int type(const std::string& control, std::vector<std::string> words) {
  std::string line;
  for (const auto& x : words)
    line += ' ' + x;
  fmt::print("$ caisson ctl{}\n", line);
  std::fflush(stdout);
  words.insert(words.begin(), {"ctl", "--file", control});
  std::vector<const char*> argv;
  for (const auto& x : words)
    argv.push_back(x.c_str());
  auto status = caisson::ctl::command_main(
    static_cast<int>(argv.size()), argv.data(), std::cout, std::cout, {});
  std::cout << std::flush;
  return status;
}

int play(caf::actor_system& system, const caisson::gate_set& gates,
         const scratch& files) {
  demo::story story;
  auto control = files.file("control");
  auto pay = [&] {
    caf::scoped_actor self{system};
    auto out = std::string{"paid"};
    caisson::portable::ask_blocking(self, gates.calls("payments"), 5s,
                                    std::int32_t{1})
      .receive([](std::int32_t) {},
               [&](const caf::error& x) { out = demo::text_of(x); });
    return out;
  };
  story.print("a customer: {}", pay());
  story.check(type(control, {"list"}) == 0, "there is a list");
  type(control, {"force_open", "payments", "--layer", "breaker"});
  auto answer = pay();
  story.print("a customer: {}", answer);
  story.check(answer.starts_with("breaker_open"), "the breaker is open");
  type(control, {"list"});
  type(control, {"enable", "payments", "--layer", "breaker"});
  answer = pay();
  story.print("a customer: {}", answer);
  story.check(answer == "paid", "the breaker is closed");
  type(control, {"set", "payments", "--layer", "deadline", "timeout=200ms"});
  story.check(type(control, {"show", "paymnts"}) == 2, "it is misspelt");
  std::ofstream{files.file("gates.toml")} << file_of_gates << "burst = 50\n";
  type(control, {"reload"});
  story.check(type(control, {"drain", "catalog"}) == 0, "it is drained");
  return story.end();
}

// -- alone --------------------------------------------------------------------

int serve(caf::actor_system& system, const caisson::gate_set& gates,
          const std::string& control, std::chrono::seconds time) {
  auto buyers = caf::actor_cast<caf::actor>(system.spawn<customers>(
    std::vector<caf::actor>{gates.calls("payments"), gates.calls("catalog")}));
  fmt::print("for {} s: caisson ctl --file {} list\n", time.count(), control);
  std::fflush(stdout);
  std::this_thread::sleep_for(time);
  caf::anon_send_exit(buyers, caf::exit_reason::user_shutdown);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  auto options = demo::serving_of(argc, argv, "--control", "FILE", {"", 60s});
  if (!options)
    return 2;
  const auto& control = options->where;
  try {
    scratch files;
    std::ofstream{files.file("gates.toml")} << file_of_gates;
    caisson::system_config config;
    caf::actor_system system{config};
    auto gates = caisson::spawn_gates(system, files.file("gates.toml"),
                                      workers());
    caisson::control_server server{
      system, {.file = control.empty() ? files.file("control") : control}};
    server.add(gates);
    return control.empty() ? play(system, gates, files)
                           : serve(system, gates, control, options->time);
  } catch (const std::exception& x) {
    fmt::print(stderr, "{}\n", x.what());
    return 2;
  }
}

/* It prints:

a customer: paid
$ caisson ctl list
gate      state      worker  calls  failed  in progress  layers that need attention
catalog   accepting  up          0       0            0
payments  accepting  up          1       0            0
$ caisson ctl force_open payments --layer breaker
layer    mode     state
breaker  enforce  forced_open
a customer: breaker_open by breaker
$ caisson ctl list
gate      state      worker  calls  failed  in progress  layers that need attention
catalog   accepting  up          0       0            0
payments  accepting  up          2       1            0  breaker forced_open
$ caisson ctl enable payments --layer breaker
layer    mode     state
breaker  enforce  closed
a customer: paid
$ caisson ctl set payments --layer deadline timeout=200ms
layer     setting  value
deadline  timeout  200ms
$ caisson ctl show paymnts
caisson ctl: unknown gate "paymnts", did you mean "payments"? known gates: catalog, payments
$ caisson ctl reload
catalog/limiter: burst = 50 (was 10)
payments/deadline: timeout = 500ms (was 200ms)
$ caisson ctl drain catalog
drained: the last call is answered
*/
