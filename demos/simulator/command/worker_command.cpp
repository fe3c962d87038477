#include <simulator/command/worker_command.hpp>

#include <simulator/play/interruption.hpp>
#include <simulator/remote/run_worker.hpp>

#include <caisson/gate.hpp>
#include <caisson/settings/problem.hpp>

#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <thread>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// Sweeps ask for each run once at a time; more is an attack.
constexpr std::uint32_t most_questions = 10'000;

run_worker_config worker_config_of(const worker_arguments& args,
                                   const command_parts& parts) {
  run_worker_config c;
  c.build = own_identity(parts.version);
  c.cores = args.jobs.value_or(static_cast<std::uint32_t>(parts.jobs));
  c.play = parts.play;
  return c;
}

} // namespace

status worker_command(const worker_arguments& args, std::ostream& out,
                      std::ostream& err, const command_parts& parts) {
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  require_safe(args.listen, args.certificates, args.insecure, "--listen");
  auto config = remote_config(args.certificates);
  caf::actor_system system{*config};
  auto c = worker_config_of(args, parts);
  auto actor = caf::actor_cast<caf::actor>(system.spawn<run_worker>(c));
  auto gate = spawn_gate(
    system, worker{actor},
    stack{"caisson worker"}.semaphore({.permits = most_questions}));
  auto port = publish_worker(system, gate, args.listen,
                             args.certificates.any());
  auto result = status::good;
  if (port) {
    auto at = worker_address{args.listen.host, *port};
    out << at.text() << std::endl;
    err << fmt::format("caisson: worker with {} core{} at {}\n", c.cores,
                       c.cores == 1 ? "" : "s", at.text())
        << std::flush;
    while ((!parts.stop || !*parts.stop) && !portable::is_down(actor))
      std::this_thread::sleep_for(50ms);
    if (portable::is_down(actor))
      result = status::internal_error;
  } else {
    err << fmt::format("--listen: cannot listen at {}: {}\n",
                       args.listen.text(), to_text(port.error()));
    result = status::bad_input;
  }
  stop_gate(gate);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  return result;
}

} // namespace caisson::sim
