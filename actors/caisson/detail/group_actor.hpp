// The actor behind a supervision group.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/detail/group_plan.hpp>
#include <caisson/messages.hpp>
#include <caisson/status.hpp>

#include <unordered_map>
#include <vector>

namespace caisson::detail {

/// Takes the reports of gates in its group, and gives them orders. Tells its
/// state and takes new settings. A gate says itself when it ends, so none is
/// watched.
class group_actor final : public caf::event_based_actor {
public:
  group_actor(caf::actor_config& cfg, supervision_group_config c);

  const char* name() const override { return "caisson.group"; }

protected:
  caf::behavior make_behavior() override;

private:
  void take(const member_report& x);
  caf::result<void> change(const reconfigure& x);
  [[nodiscard]] status make_status() const;
  void join(const caf::actor_addr& from, std::uint32_t rank);
  void give_orders();

  group_plan plan_;
  std::unordered_map<caf::actor_addr, group_plan::member_id> ids_;
  /// By id.
  std::vector<caf::actor_addr> members_;
};

} // namespace caisson::detail
