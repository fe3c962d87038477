#include <simulator/world/network_link.hpp>

#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/world/purpose.hpp>
#include <simulator/world/work_items.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

namespace {

// Where the caller of a link and the replicas behind it are.
zone_layout layout_of(const world_plan& plan, const link_plan& link) {
  const auto& r = plan.routes[link.route];
  zone_layout out{.home = plan.zone_of_caller(r, link.caller),
                  .replicas = {},
                  .callers = r.callers_by_zone};
  out.replicas.reserve(link.behind.size());
  for (std::uint32_t i = 0; i < link.behind.size(); ++i)
    out.replicas.push_back(plan.zones.of_replica(r.to, i));
  return out;
}

} // namespace

network_link::network_link(caf::actor_config& cfg, const world_context& world,
                           link_plan plan)
  : timed_actor(cfg, *world.time), world_(world), plan_(std::move(plan)),
    edge_(world.plan->routes[plan_.route].edge),
    balancer_(edge_, layout_of(*world.plan, plan_)),
    faults_(world.plan->message_faults_of_arm,
            world.plan->ends_of(world.plan->routes[plan_.route], plan_.caller)),
    knows_callers_(plan_.forwards_cancels || balances()
                   || edge_.connections.limited()),
    connections_(world, plan_.route, plan_.behind.size()) {
  if (world.plan->routes[plan_.route].zoned) {
    auto where = layout_of(*world.plan, plan_);
    for (auto zone : where.replicas)
      crosses_.push_back(zone != where.home);
  }
}

// What it still holds refers to gates, which refer to it.
void network_link::on_exit() {
  super::on_exit();
  calls_ = {};
  by_caller_.clear();
  plan_.behind.clear();
}

// Faults are the first thing to happen at their instant.
void network_link::start() {
  plan_message_faults();
  if (connections_.limited())
    connections_.plan_crashes(now(), timer());
}

void network_link::plan_message_faults() {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const auto& arm = world_.plan->arm;
    auto index = static_cast<std::size_t>(&faults_[i] - arm.faults.data());
    for (const auto& x : fault_times(arm, index, 0, world_.key)) {
      timer().push(time_after(now(), x.at), fault_begin | i);
      timer().push(time_after(now(), duration_sum(x.at, x.lasts)),
                   fault_end | i);
    }
  }
}

// -- a message on its way -----------------------------------------------------

// How long it takes; nothing if it is lost.
std::optional<duration> network_link::travel(draw_key key, std::size_t replica,
                                             const message_faults::way& way) {
  auto passes = (1 - edge_.network.loss) * way.passes;
  if (way.cuts > 0
      || (passes < 1
          && keyed_random{key.with(purpose::lost)}.uniform() >= passes))
    return std::nullopt;
  keyed_random random{key};
  auto out = duration_sum(edge_.latency.draw(random), way.delay);
  if (edge_.network.jitter > duration::zero()) {
    keyed_random more{key.with(purpose::jitter)};
    out = duration_sum(
      out, distribution::exponential(edge_.network.jitter).draw(more));
  }
  if (crosses(replica)) {
    keyed_random more{key.with(purpose::between)};
    out = duration_sum(out, world_.plan->arm.zones.between.draw(more));
  }
  return out;
}

// How long a message waits for those before it and is being sent itself.
duration network_link::transmission(time_point& free_at, std::uint64_t bytes) {
  if (edge_.network.bandwidth <= 0)
    return duration::zero();
  auto takes = static_cast<double>(bytes) / edge_.network.bandwidth * 1e9;
  constexpr double longest = 1e18;
  free_at = time_after(std::max(free_at, now()),
                       duration{std::llround(std::min(takes, longest))});
  return free_at - now();
}

// -- calls --------------------------------------------------------------------

void network_link::handle(portable::reply_to from, caf::message content) {
  if (auto crash = portable::get_if<replica_crash>(content))
    return connections_.crash(crash->replica, crash->begins);
  auto asked = work_in(content);
  if (!asked.first)
    return refuse(std::move(from));
  auto [key, c] = calls_.take();
  c->key = draw_key{asked.first->key};
  if (asked.options && asked.options->attempt > 1)
    c->key = c->key.with(asked.options->attempt)
               .with(
                 static_cast<std::uint64_t>(now().time_since_epoch().count()));
  c->from_client = asked.first->from_client;
  c->requests = asked.items;
  if (balances())
    c->to = balancer_.choose(c->key);
  keep_caller(key, from);
  c->from = std::move(from);
  c->content = std::move(content);
  if (connections_.limited())
    ask_for_connection(key, *c);
  else
    depart(key, *c);
}

void network_link::depart(std::uint64_t key, link_call& c) {
  c.at = stage::sent;
  if (auto* details = world_.recorder->details())
    details->sent(id(), key, *work_in(c.content).first,
                  world_.recorder->since_start(now()));
  world_.recorder->edge(plan_.route, now(), &edge_summary::calls);
  if (crosses(c.to))
    world_.recorder->edge(plan_.route, now(), &edge_summary::crossed);
  if (edge_.network.duplication > 0)
    c.duplicate = c.content;
  send(key, c);
}

void network_link::keep_caller(std::uint64_t key,
                               const portable::reply_to& from) {
  if (knows_callers_ && from.sender())
    by_caller_[{caf::actor_cast<caf::actor_addr>(from.sender()), from.number()}]
      = key;
}

void network_link::send(std::uint64_t key, link_call& c) {
  auto sent = transmission(uplink_free_at_,
                           c.requests * edge_.network.call_size);
  auto wait = travel(c.key.with(purpose::request_travel), c.to,
                     faults_.on_requests(c.to));
  if (!wait) {
    world_.recorder->edge(plan_.route, now(), &edge_summary::lost_calls);
    return give_up_on(key, c);
  }
  *wait = duration_sum(*wait, sent);
  if (*wait == duration::zero())
    deliver(key, c);
  else
    timer().push(time_after(now(), *wait), key);
}

void network_link::deliver(std::uint64_t key, link_call& c) {
  if (plan_.counts && c.from_client)
    world_.recorder->attempted(now(), c.requests);
  c.at = stage::delivered;
  forward(plan_.behind[c.to], key, std::move(c.content), false);
}

// -- answers ------------------------------------------------------------------

void network_link::handle_answer(std::uint64_t key, caf::message content) {
  auto* c = calls_.find(key);
  if (!c)
    return; // Answered before, which nobody behind does.
  c->content = std::move(content);
  auto sent = transmission(downlink_free_at_,
                           c->requests * edge_.network.answer_size);
  auto wait = travel(c->key.with(purpose::answer_travel), c->to,
                     faults_.on_answers(c->to));
  if (!wait)
    return answer_lost(key, *c);
  *wait = duration_sum(*wait, sent);
  if (*wait == duration::zero())
    answer(key, *c);
  else
    timer().push(time_after(now(), *wait), key);
}

void network_link::answer(std::uint64_t key, link_call& c) {
  if (auto* details = world_.recorder->details())
    details->answered(id(), key, world_.recorder->since_start(now()));
  auto from = std::move(c.from);
  auto content = std::move(c.content);
  forget(key, c, from);
  from.answer(this, std::move(content));
}

// The call may arrive once more, but not twice more.
void network_link::answer_lost(std::uint64_t key, link_call& c) {
  world_.recorder->edge(plan_.route, now(), &edge_summary::lost_answers);
  keyed_random random{c.key.with(purpose::duplicate)};
  if (c.duplicate.empty() || random.uniform() >= edge_.network.duplication)
    return give_up_on(key, c);
  world_.recorder->edge(plan_.route, now(), &edge_summary::repeated);
  c.content = std::exchange(c.duplicate, {});
  c.key = c.key.with(purpose::duplicate);
  c.at = stage::sent;
  send(key, c);
}

// -- ends ---------------------------------------------------------------------

// Nothing will come of it. Until its caller knows, the balancer counts it, and
// it has its connection.
void network_link::give_up_on(std::uint64_t key, link_call& c) {
  c.lost = true;
  if ((balances() || connections_.limited()) && !c.given_up)
    return;
  if (c.given_up)
    connection_of_given_up(c);
  forget(key, c, c.from);
}

void network_link::forget(std::uint64_t key, link_call& c,
                          const portable::reply_to& from) {
  if (knows_callers_ && from.sender())
    by_caller_.erase(
      {caf::actor_cast<caf::actor_addr>(from.sender()), from.number()});
  if (balances() && !c.given_up)
    balancer_.over(c.to);
  release(c, true);
  calls_.put_back(key);
}

void network_link::handle_cancelled(const caf::strong_actor_ptr& from,
                                    std::uint64_t number) {
  auto found = by_caller_.find(
    {caf::actor_cast<caf::actor_addr>(from), number});
  if (found == by_caller_.end())
    return; // The answer was faster.
  auto key = found->second;
  auto* c = calls_.find(key);
  if (!c || c->given_up)
    return;
  if (given_up_before_sent(key, *c))
    return;
  connection_of_given_up(*c);
  if (c->lost)
    return forget(key, *c, c->from);
  c->given_up = true;
  if (balances())
    balancer_.over(c->to);
  if (!plan_.forwards_cancels)
    return;
  if (auto wait = travel(c->key.with(purpose::cancel_travel), c->to,
                         faults_.on_requests(c->to)))
    timer().push(time_after(now(), *wait), cancel_bit | key);
}

// -- connections --------------------------------------------------------------

void network_link::ask_for_connection(std::uint64_t key, link_call& c) {
  switch (auto how = connections_.ask(now(), key, c.to, c.use)) {
    case connection_pool::grant::open:
    case connection_pool::grant::fresh:
      return has_connection(key, c, how);
    case connection_pool::grant::waits:
      c.at = stage::waits;
      // What is free at the very end of the wait is in time.
      if (edge_.connections.wait != unlimited)
        c.due = timer().push(
          time_after(now(), duration_sum(edge_.connections.wait, duration{1})),
          key);
      return;
    case connection_pool::grant::refused:
      return reject_call(key, c, errc::queue_full);
  }
}

void network_link::has_connection(std::uint64_t key, link_call& c,
                                  link_connections::grant how) {
  auto takes = connections_.connect(now(), c.to, how, c.key, c.use);
  if (takes == duration::zero())
    return depart(key, c);
  c.at = stage::connects;
  c.due = timer().push(time_after(now(), takes), key);
}

// The service has seen nothing of the call.
void network_link::reject_call(std::uint64_t key, link_call& c, errc code) {
  auto from = std::move(c.from);
  forget(key, c, from);
  from.answer(
    this, caf::make_message(make_error(
            code, rejection{std::string{no_connection_policy}, duration::zero(),
                            false, "all connections are in use"})));
}

void network_link::wait_is_over(std::uint64_t key, link_call& c) {
  connections_.expire(key, c.to, c.use);
  reject_call(key, c, errc::wait_timeout);
}

// Whether the caller gave up what was not sent yet; then it is forgotten.
bool network_link::given_up_before_sent(std::uint64_t key, link_call& c) {
  if (c.at != stage::waits && c.at != stage::connects)
    return false;
  timer().cancel(c.due);
  connections_.abandon(key, c.to, c.use, c.at == stage::waits);
  release(c, false);
  forget(key, c, c.from);
  return true;
}

void network_link::release(link_call& c, bool open) {
  if (std::exchange(c.use.connected, false))
    reassign(c.to, c.use.pool_age, open);
}

// To the call that has waited for longest, if there is one.
void network_link::reassign(std::size_t replica, std::uint32_t age, bool open) {
  auto next = connections_.give_back(now(), replica, age, open);
  if (!next)
    return;
  auto& c = *calls_.find(next->call);
  timer().cancel(c.due);
  connections_.end_wait(now(), c.use);
  has_connection(next->call, c, next->how);
}

void network_link::connection_of_given_up(link_call& c) {
  if (c.use.connected
      && connections_.give_up(c.to, c.use, c.lost, is_cut(c.to)))
    release(c, false);
}

bool network_link::is_cut(std::size_t replica) const {
  return faults_.on_requests(replica).cuts + faults_.on_answers(replica).cuts
         > 0;
}

void network_link::free_stuck() {
  for (std::size_t i = 0; i < plan_.behind.size(); ++i)
    while (!is_cut(i) && connections_.take_stuck(i))
      reassign(i, connections_.age(i), false);
}

// -- timers -------------------------------------------------------------------

void network_link::fire(std::uint64_t payload) {
  if ((payload & (fault_begin | fault_end)) != 0)
    return fault_is_due(payload);
  if ((payload & link_connections::timer_bit) != 0)
    return connections_.crash_is_due(payload);
  auto key = payload & ~cancel_bit;
  auto* c = calls_.find(key);
  if (!c)
    return;
  if ((payload & cancel_bit) != 0) {
    // A cancellation that overtook its call has no effect: the work is
    // wasted.
    if (c->at == stage::delivered)
      send_from_return_address(plan_.behind[c->to],
                               caf::make_message(cancelled{call_number(key)}));
    return;
  }
  switch (c->at) {
    case stage::waits:
      return wait_is_over(key, *c);
    case stage::connects:
      return depart(key, *c);
    case stage::sent:
      return deliver(key, *c);
    case stage::delivered:
      return answer(key, *c);
  }
}

void network_link::fault_is_due(std::uint64_t payload) {
  auto begins = (payload & fault_begin) != 0;
  auto i = static_cast<std::size_t>(payload & ~(fault_begin | fault_end));
  if (begins)
    faults_.begin(i);
  else
    faults_.end(i);
  const auto& r = world_.plan->routes[plan_.route];
  world_.recorder->log().line(
    world_.recorder->since_start(now()), "fault ", r.gate_name(plan_.caller),
    " ", fault_name(faults_[i].kind), begins ? " begins" : " ends");
  if (!begins && connections_.limited())
    free_stuck();
}

} // namespace caisson::sim
