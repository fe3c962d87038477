#include <caisson/gate/supervision_group.hpp>

#include <caisson/gate/detail/group_actor.hpp>
#include <caisson/settings/field.hpp>
#include <caisson/settings/settings.hpp>

namespace caisson {

void describe(field_visitor& v, supervision_group_config& c) {
  using namespace std::chrono_literals;
  v.choice({"strategy", "whose workers restart when one is lost: "
                        "one_for_one, one_for_all or rest_for_one"},
           c.strategy);
  v.integer<std::uint32_t>({"max_restarts",
                            "how many workers of the group may be lost within "
                            "`period`; at one more, all are given up",
                            "restarts"},
                           c.max_restarts, {0, 1'000});
  v.on({"period", "the time over which losses are counted"}, c.period,
       {1us, std::chrono::hours(24 * 365)});
}

supervision_group spawn_supervision_group(caf::actor_system& sys,
                                          supervision_group_config c) {
  require_valid(c);
  return supervision_group{
    caf::actor_cast<caf::actor>(sys.spawn<detail::group_actor>(c))};
}

} // namespace caisson
