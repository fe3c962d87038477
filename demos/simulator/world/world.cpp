#include <simulator/world/world.hpp>

#include <simulator/scenario/replicas.hpp>
#include <simulator/world/client.hpp>
#include <simulator/world/network_link.hpp>
#include <simulator/world/service.hpp>

#include <caisson/config/stack_toml.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/gate.hpp>

#include <utility>

namespace caisson::sim {

namespace {

// Records the events of the gates.
class monitor final : public portable::interceptor<go, event> {
public:
  using super = portable::interceptor<go, event>;

  monitor(caf::actor_config& cfg, run_recorder* recorder,
          const std::vector<caf::actor>* gates)
    : super(cfg), recorder_(recorder), gates_(gates) {}

  const char* name() const override { return "caisson.sim.monitor"; }

protected:
  caf::message_handler control() override {
    return {
      [this](const go&) {
        for (const auto& gate : *gates_)
          portable::send(this, gate, subscribe{});
      },
      [this](const event& e) { recorder_->gate_event(e); },
    };
  }
  void on_message(portable::reply_to, caf::message&&) override {}
  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  run_recorder* recorder_;
  const std::vector<caf::actor>* gates_;
};

} // namespace

world::world(const arm_config& arm, std::uint64_t seed,
             std::function<void(std::string_view)> log,
             const std::atomic<bool>* stop)
  : stop_(stop), plan_(arm), key_(draw_key{seed}),
    recorder_(plan_, std::move(log)), time_(config_),
    load_source_(default_load_source::of(&time_.system())) {
  context_ = {&plan_, &recorder_,     &time_, &route_gates_,
              key_,   &pooled_links_, &loads_};
  pooled_links_.resize(plan_.arm.services.size());
  recorder_.set_start(time_.now());
  build();
  if (!whole_)
    return;
  monitor_ = time_.system().spawn<monitor>(&recorder_, &watched_);
  auto begin = [this](const caf::actor& x) { time_.send(x, go{}); };
  begin(monitor_);
  for (const auto* group : {&services_, &links_, &clients_})
    for (const auto& x : *group)
      begin(x);
}

world::~world() {
  for (const auto* group : {&clients_, &watched_, &links_, &services_})
    for (const auto& x : *group)
      caf::anon_send_exit(x, caf::exit_reason::kill);
  if (monitor_)
    caf::anon_send_exit(monitor_, caf::exit_reason::kill);
  time_.run_until_idle();
  // No handle may outlive the system.
  route_gates_.clear();
  pooled_links_.clear();
}

// -- building -----------------------------------------------------------------

caf::actor world::spawn_gate_of(const std::string& name,
                                const std::string& stack_name, worker behind,
                                std::shared_ptr<busy_servers> load) {
  stack policies{name};
  if (stack_name.empty()) {
    // Nothing of its own: no deadline, and room for everything.
    gate_config c;
    c.name = name;
    c.default_deadline = unlimited;
    c.max_calls = 16'000'000;
    policies = stack{c};
  } else {
    policies = plan_.arm.stacks.find(stack_name)->second->policies;
    policies.rename(name);
  }
  if (policies.config().seed == 0) {
    auto seed = key_.with("gate").with(name).value() >> 1;
    policies.seed(static_cast<std::int64_t>(seed == 0 ? 1 : seed));
  }
  for (const auto& l : policies.build())
    if (l->machine().kind() == "breaker")
      recorder_.add_breaker(name, l->name());
  load_source_->set(std::move(load));
  auto gate = spawn_gate(time_.system(), std::move(behind), policies);
  gates_.push_back({name, stack_name, gate});
  watched_.push_back(gate);
  return gate;
}

void world::build() {
  spawn_services();
  spawn_routes();
  // What is missing is not missed by anybody then.
  if (stopped())
    return;
  spawn_clients();
  whole_ = true;
}

void world::spawn_services() {
  for (std::size_t i = 0; i < plan_.instances.size() && !stopped(); ++i) {
    auto [service_index, replica] = plan_.instances[i];
    const auto& c = plan_.arm.services[service_index];
    auto gated = !c.stack.empty();
    loads_.push_back(std::make_shared<busy_servers>());
    auto x = time_.system().spawn<service>(context_, i, !gated);
    services_.push_back(x);
    if (!gated) {
      entry_points_.push_back(x);
      continue;
    }
    auto behind = worker{x}.takes_calls();
    if (c.abandoned != abandoned_work::finish)
      behind = std::move(behind).takes_cancelled();
    entry_points_.push_back(spawn_gate_of(
      "-> " + replica_name(c, replica), c.stack, std::move(behind), loads_[i]));
  }
}

void world::spawn_routes() {
  for (std::uint32_t i = 0; i < plan_.routes.size(); ++i) {
    const auto& r = plan_.routes[i];
    for (std::uint32_t caller = 0; caller < r.callers; ++caller) {
      if (stopped())
        return;
      // A client has no servers.
      auto load = r.from_client
                    ? nullptr
                    : loads_[plan_.first_instance[r.from_index] + caller];
      route_gates_.push_back(spawn_gate_of(r.gate_name(caller), r.edge.stack,
                                           behind_route(i, caller),
                                           std::move(load)));
    }
  }
}

// The service of a route, or the network in front of it.
worker world::behind_route(std::uint32_t index, std::uint32_t caller) {
  const auto& r = plan_.routes[index];
  const auto& c = plan_.arm.services[r.to];
  auto gated = !c.stack.empty();
  // A gate releases what it holds for a call as soon as it gets the
  // cancellation.
  auto wants_cancels = gated || c.abandoned != abandoned_work::finish;
  auto first = entry_points_.begin() + plan_.first_instance[r.to];
  auto target = *first;
  if (!r.edge.latency.zero() || (gated && r.from_client) || c.replicas > 1
      || r.is_recorded()) {
    link_plan plan{.route = index,
                   .caller = caller,
                   .behind = {first, first + c.replicas},
                   .counts = gated,
                   .forwards_cancels = wants_cancels};
    target = time_.system().spawn<network_link>(context_, std::move(plan));
    links_.push_back(target);
    if (r.edge.connections.limited())
      pooled_links_[r.to].push_back(target);
    // A balancer counts what its caller waits for, and a connection is his.
    wants_cancels = wants_cancels || c.replicas > 1
                    || r.edge.connections.limited();
  }
  // Services and links say truly which calls were not executed.
  auto behind = worker{target}.takes_calls().is_gate();
  return wants_cancels ? std::move(behind).takes_cancelled() : behind;
}

void world::spawn_clients() {
  for (std::size_t i = 0; i < plan_.arm.loads.size(); ++i)
    clients_.push_back(time_.system().spawn<client>(context_, i));
}

// -- running ------------------------------------------------------------------

void world::advance_to(duration t) {
  auto target = recorder_.since_start(time_.now());
  if (t - duration{1} > target)
    time_.advance(t - duration{1} - target);
}

std::vector<gate_summary> world::gates() {
  if (!whole_)
    return {};
  // Nothing but that is waited for, as a world that was stopped need not come
  // to rest.
  std::vector<pending_answer> answers;
  for (const auto& g : gates_)
    answers.push_back(time_.user().request_urgently(g.handle, get_status{}));
  time_.run_until_ready(answers);
  std::vector<gate_summary> out;
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    const auto& g = gates_[i];
    auto s = answers[i].value<status>();
    gate_summary x;
    x.name = g.name;
    x.stack = g.stack;
    x.metrics = s.metrics;
    for (auto& l : s.layers)
      x.layers.push_back({l.name, l.kind, l.state, std::move(l.metrics)});
    out.push_back(std::move(x));
  }
  return out;
}

} // namespace caisson::sim
