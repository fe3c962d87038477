#include <caisson/detail/group_actor.hpp>

#include <caisson/detail/reconfigure_size.hpp>
#include <caisson/error.hpp>

#include <string>
#include <utility>

namespace caisson::detail {

group_actor::group_actor(caf::actor_config& cfg, supervision_group_config c)
  : caf::event_based_actor(cfg), plan_(c) {}

caf::behavior group_actor::make_behavior() {
  return {
    [this](const member_report& x) {
      take(x);
      give_orders();
    },
    [this](const reconfigure& x) { return change(x); },
    [this](const get_status&) { return make_status(); },
  };
}

void group_actor::take(const member_report& x) {
  auto who_asks = caf::actor_cast<caf::strong_actor_ptr>(current_sender());
  // Another node cannot know when its worker is to stop.
  if (!who_asks || portable::is_remote(home_system(), who_asks))
    return;
  auto from = caf::actor_cast<caf::actor_addr>(who_asks);
  if (x.what == member_state::joined)
    return join(from, x.rank);
  auto i = ids_.find(from);
  if (i == ids_.end())
    return;
  auto who = i->second;
  switch (x.what) {
    case member_state::down:
      return plan_.on_down(who, x.order, clock().now(), x.why);
    case member_state::due:
      return plan_.on_due(who);
    case member_state::up:
      return plan_.on_up(who, x.order);
    case member_state::gave_up:
      return plan_.on_gave_up(x.why);
    case member_state::left:
      plan_.leave(who);
      members_[who] = nullptr;
      ids_.erase(i);
      return;
    case member_state::joined:
      return;
  }
}

caf::result<void> group_actor::change(const reconfigure& x) {
  auto refused = [](std::string why) {
    return make_error(
      errc::invalid_config,
      rejection{"supervision_group", duration::zero(), false, std::move(why)});
  };
  if (portable::is_remote(home_system(), caf::actor_cast<caf::strong_actor_ptr>(
                                           current_sender())))
    return refused("only its own node may change a group");
  if (auto text = problem_with_size(x); !text.empty())
    return refused(std::move(text));
  if (!x.layer.empty())
    return refused("a group has no layers");
  auto next = plan_.config();
  if (auto found = change_settings(settings_from_text(x.set), {}, next);
      !found.empty())
    return refused(to_text(found));
  plan_.reconfigure(next);
  give_orders();
  return caf::unit;
}

status group_actor::make_status() const {
  auto members = static_cast<std::int64_t>(plan_.members());
  auto pending = static_cast<std::int64_t>(plan_.pending());
  status out;
  out.name = "supervision_group";
  out.worker = members == 0      ? worker_state::none
               : plan_.is_over() ? worker_state::given_up
               : pending > 0     ? worker_state::restarting
                                 : worker_state::up;
  out.metrics = {{"members", members},
                 {"members_up", plan_.is_over() ? 0 : members - pending},
                 {"losses", static_cast<std::int64_t>(plan_.losses())}};
  return out;
}

void group_actor::join(const caf::actor_addr& from, std::uint32_t rank) {
  if (ids_.contains(from))
    return;
  auto who = plan_.join(rank);
  if (who >= members_.size())
    members_.resize(who + 1);
  members_[who] = from;
  ids_.emplace(from, who);
}

void group_actor::give_orders() {
  for (auto& x : plan_.take_orders())
    if (auto to = caf::actor_cast<caf::actor>(members_[x.to]))
      portable::tell(this, to, group_order{x.what, x.number, std::move(x.why)});
}

} // namespace caisson::detail
