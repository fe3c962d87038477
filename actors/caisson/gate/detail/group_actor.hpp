// The actor behind a supervision group.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/gate/detail/group_plan.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

using group_base = portable::interceptor<member_report, reconfigure,
                                         get_status>;

/// Takes the reports of gates in its group, and gives them orders. Notifies its
/// state and takes new settings. Gates are watched: one without references can
/// send nothing when it ends.
class group_actor final : public group_base {
public:
  group_actor(caf::actor_config& cfg, supervision_group_config c);

  const char* name() const override { return "caisson.group"; }

protected:
  caf::message_handler control() override;
  void on_message(portable::reply_to from, caf::message&& content) override;
  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr& actor, const caf::error& why) override;

private:
  void take(const member_report& x);
  caf::result<void> change(const reconfigure& x);
  [[nodiscard]] status make_status() const;
  void join(const caf::strong_actor_ptr& from, std::uint32_t rank);
  void leave(const caf::actor_addr& actor);
  void forget_ended();
  void give_orders();

  group_plan plan_;
  std::unordered_map<caf::actor_addr, group_plan::member_id> ids_;
  /// By id.
  std::vector<caf::actor_addr> members_;
};

} // namespace caisson::detail
