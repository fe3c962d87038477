#include <sim/world/network_link.hpp>

#include <sim/world/purpose.hpp>
#include <sim/world/work_items.hpp>

namespace caisson::sim {

network_link::network_link(caf::actor_config& cfg, const world_context& world,
                           const distribution& latency, caf::actor behind,
                           bool counts, bool forwards_cancels)
  : timed_actor(cfg, *world.time), world_(world), latency_(latency),
    behind_(std::move(behind)), counts_(counts),
    forwards_cancels_(forwards_cancels) {}

// What it still holds refers to gates, which refer to it.
void network_link::on_exit() {
  super::on_exit();
  parcels_ = {};
  by_caller_.clear();
  behind_ = nullptr;
}

duration network_link::delay(draw_key key) const {
  keyed_random random{key};
  return latency_.draw(random);
}

void network_link::handle(portable::reply_to from, caf::message content) {
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
  if (forwards_cancels_ && from.sender())
    by_caller_[{caf::actor_cast<caf::actor_addr>(from.sender()), from.number()}]
      = key;
  p->from = std::move(from);
  p->content = std::move(content);
  auto wait = delay(p->key.with(purpose::there));
  if (wait == duration::zero())
    deliver(key, *p);
  else
    timer().push(time_after(now(), wait), key);
}

void network_link::deliver(std::uint64_t key, parcel& p) {
  if (counts_ && p.from_client)
    world_.recorder->attempted(now(), p.requests);
  p.delivered = true;
  forward(behind_, key, std::move(p.content), false);
}

void network_link::handle_answer(std::uint64_t key, caf::message content) {
  auto* p = parcels_.find(key);
  if (!p)
    return; // Answered before, which nobody behind does.
  p->content = std::move(content);
  auto wait = delay(p->key.with(purpose::back));
  if (wait == duration::zero())
    answer(key, *p);
  else
    timer().push(time_after(now(), wait), key);
}

void network_link::answer(std::uint64_t key, parcel& p) {
  if (forwards_cancels_ && p.from.sender())
    by_caller_.erase(
      {caf::actor_cast<caf::actor_addr>(p.from.sender()), p.from.number()});
  p.from.answer(this, std::move(p.content));
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
  p->given_up = true;
  timer().push(time_after(now(), delay(p->key.with(purpose::again))),
               cancel_bit | key);
}

void network_link::fire(std::uint64_t payload) {
  auto key = payload & ~cancel_bit;
  auto* p = parcels_.find(key);
  if (!p)
    return;
  if ((payload & cancel_bit) != 0) {
    // News that overtook its parcel finds nobody; the work is done in vain.
    if (p->delivered)
      tell_from_return_address(behind_,
                               caf::make_message(cancelled{call_number(key)}));
    return;
  }
  if (p->delivered)
    answer(key, *p);
  else
    deliver(key, *p);
}

} // namespace caisson::sim
