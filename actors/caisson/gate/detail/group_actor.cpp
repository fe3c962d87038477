#include <caisson/gate/detail/group_actor.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/engine/reconfigure_size.hpp>
#include <caisson/settings/setting.hpp>
#include <caisson/settings/settings.hpp>

#include <string>
#include <utility>

namespace caisson::detail {

group_actor::group_actor(caf::actor_config& cfg, supervision_group_config c)
  : group_base(cfg), plan_(c) {}

caf::message_handler group_actor::control() {
  return {
    [this](const member_report& x) {
      take(x);
      give_orders();
    },
    [this](const reconfigure& x) { return change(x); },
    [this](const get_status&) { return make_status(); },
  };
}

void group_actor::on_message(portable::reply_to from, caf::message&&) {
  from.answer(this, caf::make_message(caf::error{
                      caf::make_error(caf::sec::unexpected_message)}));
}

void group_actor::on_down(const caf::actor_addr& actor, const caf::error&) {
  leave(actor);
  give_orders();
}

void group_actor::take(const member_report& x) {
  auto sender = caf::actor_cast<caf::strong_actor_ptr>(current_sender());
  // Another node cannot know when its worker is to stop.
  if (!sender || portable::is_remote(home_system(), sender))
    return;
  auto from = caf::actor_cast<caf::actor_addr>(sender);
  if (x.what == member_state::joined)
    return join(sender, x.rank);
  auto i = ids_.find(from);
  if (i == ids_.end())
    return;
  auto member = i->second;
  switch (x.what) {
    case member_state::down:
      return plan_.on_down(member, x.order, clock().now(), x.why);
    case member_state::due:
      return plan_.on_due(member);
    case member_state::up:
      return plan_.on_up(member, x.order);
    case member_state::gave_up:
      return plan_.on_gave_up(x.why);
    case member_state::ended:
      return plan_.on_ended(member, x.order, true);
    case member_state::finished:
      return plan_.on_ended(member, x.order, false);
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
  auto ended = static_cast<std::int64_t>(plan_.ended());
  status out;
  out.name = "supervision_group";
  out.worker = members == 0      ? worker_state::none
               : plan_.is_over() ? worker_state::given_up
               : pending > 0     ? worker_state::restarting
               : ended < members ? worker_state::up
                                 : worker_state::ended;
  layer_status all{.name = "supervision_group", .kind = "supervision_group"};
  for (auto& row : rows_of(plan_.config()))
    all.config.emplace(std::move(row.key), std::move(row.value));
  out.layers.push_back(std::move(all));
  out.metrics = {
    {"members", members},
    {"members_up", plan_.is_over() ? 0 : members - pending - ended},
    {"members_ended", ended},
    {"losses", static_cast<std::int64_t>(plan_.losses())}};
  return out;
}

void group_actor::join(const caf::strong_actor_ptr& from, std::uint32_t rank) {
  auto address = caf::actor_cast<caf::actor_addr>(from);
  if (ids_.contains(address))
    return;
  forget_ended();
  auto member = plan_.join(rank);
  if (member >= members_.size())
    members_.resize(member + 1);
  members_[member] = address;
  ids_.emplace(std::move(address), member);
  watch(from);
}

void group_actor::leave(const caf::actor_addr& actor) {
  auto i = ids_.find(actor);
  if (i == ids_.end())
    return;
  plan_.leave(i->second);
  members_[i->second] = nullptr;
  ids_.erase(i);
}

// That a gate has ended can be known before the message about it comes: one
// that takes its place must not be given up with it.
void group_actor::forget_ended() {
  if (!plan_.is_over())
    return;
  for (const auto& x : std::vector{members_})
    if (auto member = caf::actor_cast<caf::actor>(x);
        x && (!member || portable::is_down(member)))
      leave(x);
}

void group_actor::give_orders() {
  for (auto& x : plan_.take_orders())
    if (auto to = caf::actor_cast<caf::actor>(members_[x.to]))
      portable::send(this, to, group_order{x.what, x.number, std::move(x.why)});
}

} // namespace caisson::detail
