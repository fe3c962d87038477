// The network between a caller and a service.
#pragma once

#include <sim/world/slot_table.hpp>
#include <sim/world/timed_actor.hpp>
#include <sim/world/world_context.hpp>

#include <map>
#include <utility>

namespace caisson::sim {

/// Takes calls to what is behind it and answers back, each after a latency of
/// its own: a later message may overtake an earlier one. What a caller gives up
/// travels, too.
///
/// It also counts arrivals for services that have policies in front, since
/// those may reject calls before the service sees them (`counts`), and lets
/// what is behind it know when a caller gives up (`forwards_cancels`).
class network_link final : public timed_actor {
public:
  network_link(caf::actor_config& cfg, const world_context& world,
               const distribution& latency, caf::actor behind, bool counts,
               bool forwards_cancels);

  const char* name() const override { return "caisson.sim.network_link"; }

  void on_exit() override;

protected:
  void start() override {}
  void handle(portable::reply_to from, caf::message content) override;
  void handle_answer(std::uint64_t key, caf::message content) override;
  void handle_cancelled(const caf::strong_actor_ptr& from,
                        std::uint64_t number) override;
  void fire(std::uint64_t payload) override;

private:
  using caller = std::pair<caf::actor_addr, std::uint64_t>;

  struct parcel {
    portable::reply_to from;
    caf::message content;
    draw_key key{0};
    bool from_client = false;
    /// More than one in a batch.
    std::uint64_t requests = 1;
    bool delivered = false;
    bool given_up = false;
  };

  // A timer for the news that a parcel was given up, instead of for the parcel
  // itself.
  static constexpr std::uint64_t cancel_bit = std::uint64_t{1} << 62;

  void deliver(std::uint64_t key, parcel& p);
  void answer(std::uint64_t key, parcel& p);
  [[nodiscard]] duration delay(draw_key key) const;

  world_context world_;
  distribution latency_;
  caf::actor behind_;
  bool counts_;
  bool forwards_cancels_;
  slot_table<parcel> parcels_;
  /// Which parcel a caller means.
  std::map<caller, std::uint64_t> by_caller_;
};

} // namespace caisson::sim
