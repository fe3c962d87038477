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
  parcels_ = {};
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
  auto [key, p] = parcels_.take();
  p->key = draw_key{asked.first->key};
  if (asked.options && asked.options->attempt > 1)
    p->key = p->key.with(asked.options->attempt)
               .with(
                 static_cast<std::uint64_t>(now().time_since_epoch().count()));
  p->from_client = asked.first->from_client;
  p->requests = asked.items;
  if (balances())
    p->to = balancer_.choose(p->key);
  keep_caller(key, from);
  p->from = std::move(from);
  p->content = std::move(content);
  if (connections_.limited())
    ask_for_connection(key, *p);
  else
    depart(key, *p);
}

void network_link::depart(std::uint64_t key, parcel& p) {
  p.at = stage::sent;
  if (auto* details = world_.recorder->details())
    details->sent(id(), key, *work_in(p.content).first,
                  world_.recorder->since_start(now()));
  world_.recorder->edge(plan_.route, now(), &edge_summary::calls);
  if (crosses(p.to))
    world_.recorder->edge(plan_.route, now(), &edge_summary::crossed);
  if (edge_.network.duplication > 0)
    p.duplicate = p.content;
  send(key, p);
}

void network_link::keep_caller(std::uint64_t key,
                               const portable::reply_to& from) {
  if (knows_callers_ && from.sender())
    by_caller_[{caf::actor_cast<caf::actor_addr>(from.sender()), from.number()}]
      = key;
}

void network_link::send(std::uint64_t key, parcel& p) {
  auto sent = transmission(uplink_free_at_,
                           p.requests * edge_.network.call_size);
  auto wait = travel(p.key.with(purpose::request_travel), p.to,
                     faults_.on_requests(p.to));
  if (!wait) {
    world_.recorder->edge(plan_.route, now(), &edge_summary::lost_calls);
    return give_up_on(key, p);
  }
  *wait = duration_sum(*wait, sent);
  if (*wait == duration::zero())
    deliver(key, p);
  else
    timer().push(time_after(now(), *wait), key);
}

void network_link::deliver(std::uint64_t key, parcel& p) {
  if (plan_.counts && p.from_client)
    world_.recorder->attempted(now(), p.requests);
  p.at = stage::delivered;
  forward(plan_.behind[p.to], key, std::move(p.content), false);
}

// -- answers ------------------------------------------------------------------

void network_link::handle_answer(std::uint64_t key, caf::message content) {
  auto* p = parcels_.find(key);
  if (!p)
    return; // Answered before, which nobody behind does.
  p->content = std::move(content);
  auto sent = transmission(downlink_free_at_,
                           p->requests * edge_.network.answer_size);
  auto wait = travel(p->key.with(purpose::answer_travel), p->to,
                     faults_.on_answers(p->to));
  if (!wait)
    return answer_lost(key, *p);
  *wait = duration_sum(*wait, sent);
  if (*wait == duration::zero())
    answer(key, *p);
  else
    timer().push(time_after(now(), *wait), key);
}

void network_link::answer(std::uint64_t key, parcel& p) {
  if (auto* details = world_.recorder->details())
    details->answered(id(), key, world_.recorder->since_start(now()));
  auto from = std::move(p.from);
  auto content = std::move(p.content);
  forget(key, p, from);
  from.answer(this, std::move(content));
}

// The call may arrive once more, but not twice more.
void network_link::answer_lost(std::uint64_t key, parcel& p) {
  world_.recorder->edge(plan_.route, now(), &edge_summary::lost_answers);
  keyed_random random{p.key.with(purpose::duplicate)};
  if (p.duplicate.empty() || random.uniform() >= edge_.network.duplication)
    return give_up_on(key, p);
  world_.recorder->edge(plan_.route, now(), &edge_summary::repeated);
  p.content = std::exchange(p.duplicate, {});
  p.key = p.key.with(purpose::duplicate);
  p.at = stage::sent;
  send(key, p);
}

// -- ends ---------------------------------------------------------------------

// Nothing will come of it. Until its caller knows, the balancer counts it, and
// it has its connection.
void network_link::give_up_on(std::uint64_t key, parcel& p) {
  p.lost = true;
  if ((balances() || connections_.limited()) && !p.given_up)
    return;
  if (p.given_up)
    connection_of_given_up(p);
  forget(key, p, p.from);
}

void network_link::forget(std::uint64_t key, parcel& p,
                          const portable::reply_to& from) {
  if (knows_callers_ && from.sender())
    by_caller_.erase(
      {caf::actor_cast<caf::actor_addr>(from.sender()), from.number()});
  if (balances() && !p.given_up)
    balancer_.over(p.to);
  release(p, true);
  parcels_.put_back(key);
}

void network_link::handle_cancelled(const caf::strong_actor_ptr& from,
                                    std::uint64_t number) {
  auto found = by_caller_.find(
    {caf::actor_cast<caf::actor_addr>(from), number});
  if (found == by_caller_.end())
    return; // The answer was faster.
  auto key = found->second;
  auto* p = parcels_.find(key);
  if (!p || p->given_up)
    return;
  if (given_up_before_sent(key, *p))
    return;
  connection_of_given_up(*p);
  if (p->lost)
    return forget(key, *p, p->from);
  p->given_up = true;
  if (balances())
    balancer_.over(p->to);
  if (!plan_.forwards_cancels)
    return;
  if (auto wait = travel(p->key.with(purpose::cancel_travel), p->to,
                         faults_.on_requests(p->to)))
    timer().push(time_after(now(), *wait), cancel_bit | key);
}

// -- connections --------------------------------------------------------------

void network_link::ask_for_connection(std::uint64_t key, parcel& p) {
  switch (auto how = connections_.ask(now(), key, p.to, p.use)) {
    case connection_pool::grant::open:
    case connection_pool::grant::fresh:
      return has_connection(key, p, how);
    case connection_pool::grant::waits:
      p.at = stage::waits;
      // What is free at the very end of the wait is in time.
      if (edge_.connections.wait != unlimited)
        p.due = timer().push(
          time_after(now(), duration_sum(edge_.connections.wait, duration{1})),
          key);
      return;
    case connection_pool::grant::refused:
      return reject_parcel(key, p, errc::queue_full);
  }
}

void network_link::has_connection(std::uint64_t key, parcel& p,
                                  link_connections::grant how) {
  auto takes = connections_.connect(now(), p.to, how, p.key, p.use);
  if (takes == duration::zero())
    return depart(key, p);
  p.at = stage::connects;
  p.due = timer().push(time_after(now(), takes), key);
}

// The service has seen nothing of the call.
void network_link::reject_parcel(std::uint64_t key, parcel& p, errc code) {
  auto from = std::move(p.from);
  forget(key, p, from);
  from.answer(
    this, caf::make_message(make_error(
            code, rejection{std::string{no_connection_policy}, duration::zero(),
                            false, "all connections are in use"})));
}

void network_link::wait_is_over(std::uint64_t key, parcel& p) {
  connections_.expire(key, p.to, p.use);
  reject_parcel(key, p, errc::wait_timeout);
}

// Whether the caller gave up what was not sent yet; then it is forgotten.
bool network_link::given_up_before_sent(std::uint64_t key, parcel& p) {
  if (p.at != stage::waits && p.at != stage::connects)
    return false;
  timer().cancel(p.due);
  connections_.abandon(key, p.to, p.use, p.at == stage::waits);
  release(p, false);
  forget(key, p, p.from);
  return true;
}

void network_link::release(parcel& p, bool open) {
  if (std::exchange(p.use.connected, false))
    reassign(p.to, p.use.pool_age, open);
}

// To the call that has waited for longest, if there is one.
void network_link::reassign(std::size_t replica, std::uint32_t age, bool open) {
  auto next = connections_.give_back(now(), replica, age, open);
  if (!next)
    return;
  auto& p = *parcels_.find(next->call);
  timer().cancel(p.due);
  connections_.end_wait(now(), p.use);
  has_connection(next->call, p, next->how);
}

void network_link::connection_of_given_up(parcel& p) {
  if (p.use.connected
      && connections_.give_up(p.to, p.use, p.lost, is_cut(p.to)))
    release(p, false);
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
  auto* p = parcels_.find(key);
  if (!p)
    return;
  if ((payload & cancel_bit) != 0) {
    // A cancellation that overtook its parcel has no effect: the work is
    // wasted.
    if (p->at == stage::delivered)
      send_from_return_address(plan_.behind[p->to],
                               caf::make_message(cancelled{call_number(key)}));
    return;
  }
  switch (p->at) {
    case stage::waits:
      return wait_is_over(key, *p);
    case stage::connects:
      return depart(key, *p);
    case stage::sent:
      return deliver(key, *p);
    case stage::delivered:
      return answer(key, *p);
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
