#include <sim/world/link.hpp>

#include <sim/world/order.hpp>
#include <sim/world/purpose.hpp>

namespace caisson::sim {

link::link(caf::actor_config& cfg, const surroundings& world,
           const distribution& latency, caf::actor behind, bool counts,
           bool tells)
  : timed_actor(cfg, *world.time), world_(world), latency_(latency),
    behind_(std::move(behind)), counts_(counts), tells_(tells) {}

// What it still holds refers to gates, which refer to it.
void link::on_exit() {
  super::on_exit();
  parcels_ = {};
  by_caller_.clear();
  behind_ = nullptr;
}

duration link::delay(draw_key key) const {
  keyed_random random{key};
  return latency_.draw(random);
}

void link::handle(rt::reply_to from, caf::message content) {
  auto asked = order_in(content);
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
  if (tells_ && from.sender())
    by_caller_[{caf::actor_cast<caf::actor_addr>(from.sender()), from.number()}]
      = key;
  p->from = std::move(from);
  p->content = std::move(content);
  auto wait = delay(p->key.with(purpose::there));
  if (wait == duration::zero())
    deliver(key, *p);
  else
    timer().push(after(now(), wait), key);
}

void link::deliver(std::uint64_t key, parcel& p) {
  if (counts_ && p.from_client)
    world_.record->attempted(now(), p.requests);
  p.delivered = true;
  forward(behind_, key, std::move(p.content), false);
}

void link::handle_answer(std::uint64_t key, caf::message content) {
  auto* p = parcels_.find(key);
  if (!p)
    return; // Answered before, which nobody behind does.
  p->content = std::move(content);
  auto wait = delay(p->key.with(purpose::back));
  if (wait == duration::zero())
    answer(key, *p);
  else
    timer().push(after(now(), wait), key);
}

void link::answer(std::uint64_t key, parcel& p) {
  if (tells_ && p.from.sender())
    by_caller_.erase(
      {caf::actor_cast<caf::actor_addr>(p.from.sender()), p.from.number()});
  p.from.answer(this, std::move(p.content));
  parcels_.put_back(key);
}

void link::handle_cancelled(const caf::strong_actor_ptr& from,
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
  timer().push(after(now(), delay(p->key.with(purpose::again))),
               word_bit | key);
}

void link::fire(std::uint64_t payload) {
  auto key = payload & ~word_bit;
  auto* p = parcels_.find(key);
  if (!p)
    return;
  if ((payload & word_bit) != 0) {
    // A word that overtook its parcel finds nobody; the work is done in vain.
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
