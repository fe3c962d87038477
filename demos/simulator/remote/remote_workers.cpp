#include <simulator/remote/remote_workers.hpp>

#include <simulator/remote/run_dispatcher.hpp>

#include <caisson/adapters/blocking_pool.hpp>
#include <caisson/gate.hpp>

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <optional>
#include <random>
#include <thread>
#include <utility>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

std::atomic<bool> left_threads{false};

std::string random_name() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

// The connection, made anew each time that it is lost.
worker connection_to(const worker_address& a, bool tls,
                     const std::shared_ptr<worker_record>& record) {
  auto connect = [a, tls,
                  record](caf::actor_system& sys) -> caf::expected<caf::actor> {
    auto out = connect_worker(sys, a, tls);
    if (!out) {
      auto context = context_of(out.error());
      auto why = context ? context->text : to_text(out.error());
      record->change([&](worker_view& v) { v.text = std::move(why); });
    }
    return out;
  };
  return worker::supervised(connect, patient_supervision())
    .on_own_thread()
    .is_gate();
}

// A worker that does not answer in time, or has no connection, gets no further
// runs until it has answered a handshake, which is sent once a second.
stack policies_for(const worker_address& a, duration timeout) {
  return stack{a.text()}
    .default_deadline(timeout + 10s)
    .breaker({.threshold = 1,
              .open = schedule::constant(1s),
              .probe_timeout = std::min<duration>(timeout + 1s, 1h)})
    .deadline({.timeout = timeout});
}

} // namespace

struct remote_workers::parts {
  std::unique_ptr<caf::actor_system_config> config;
  std::optional<caf::actor_system> system;
  std::vector<std::shared_ptr<worker_record>> records;
  std::vector<control_handle> gates;
  std::vector<caf::actor> dispatchers;
};

remote_workers::remote_workers(const remote_options& o,
                               const build_identity& build, run_source& source)
  : parts_(std::make_unique<parts>()) {
  for (const auto& a : o.workers)
    require_safe(a, o.certificates, o.insecure, "--worker");
  auto& p = *parts_;
  p.config = remote_config(o.certificates);
  p.system.emplace(*p.config);
  run_dispatcher_config c;
  c.build = build;
  c.sweep = random_name();
  for (const auto& a : o.workers) {
    auto record = std::make_shared<worker_record>(a.text());
    auto gate = spawn_gate(*p.system,
                           connection_to(a, o.certificates.any(), record),
                           policies_for(a, o.timeout));
    p.dispatchers.push_back(caf::actor_cast<caf::actor>(
      p.system->spawn<run_dispatcher>(gate, c, std::ref(source), record)));
    p.gates.push_back(std::move(gate));
    p.records.push_back(std::move(record));
  }
}

remote_workers::~remote_workers() {
  {
    caf::scoped_actor self{*parts_->system};
    for (const auto& x : parts_->dispatchers)
      portable::send_anon(x, dispatcher_end{});
    // They end after a second at the latest.
    self->wait_for(parts_->dispatchers);
  }
  parts_->dispatchers.clear();
  for (const auto& x : parts_->gates)
    stop_gate(x);
  parts_->gates.clear();
  std::promise<void> ended;
  auto end = ended.get_future();
  std::thread last{[p = std::move(parts_), done = std::move(ended)]() mutable {
    p.reset();
    done.set_value();
  }};
  if (end.wait_for(2s) == std::future_status::ready) {
    last.join();
  } else {
    left_threads = true;
    last.detach();
  }
}

std::vector<worker_view> remote_workers::workers() const {
  std::vector<worker_view> out;
  for (const auto& x : parts_->records)
    out.push_back(x->view());
  return out;
}

bool remote_workers::leaves_threads() noexcept {
  return left_threads;
}

} // namespace caisson::sim
