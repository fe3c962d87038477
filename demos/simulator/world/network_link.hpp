// The network between a caller and a service.
#pragma once

#include <simulator/world/link_connections.hpp>
#include <simulator/world/message_faults.hpp>
#include <simulator/world/slot_table.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/world_context.hpp>
#include <simulator/world/zone_balancer.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::sim {

/// What a network link leads to, and what it is to do on the way.
struct link_plan {
  /// Index of the route.
  std::uint32_t route = 0;
  /// Which replica of the caller uses it, from 0 on.
  std::uint32_t caller = 0;
  /// The replicas of the service, or the gates in front of them.
  std::vector<caf::actor> behind;
  /// Whether it counts arrivals from clients, for services that have policies
  /// in front: those may reject calls before the service sees them.
  bool counts = false;
  /// Whether it lets what is behind it know when a caller gives up.
  bool forwards_cancels = false;
};

/// Takes calls to one of the replicas behind it and answers back, each after a
/// latency of its own: a later message may overtake an earlier one. What a
/// caller gives up travels, too. Messages may be lost silently; a
/// call whose answer was lost may arrive once more. If connections are limited,
/// a call waits for one first, and has it until its answer is back.
class network_link final : public timed_actor {
public:
  network_link(caf::actor_config& cfg, const world_context& world,
               link_plan plan);

  const char* name() const override { return "caisson.sim.network_link"; }

  void on_exit() override;

protected:
  void start() override;
  void handle(portable::reply_to from, caf::message content) override;
  void handle_answer(std::uint64_t key, caf::message content) override;
  void handle_cancelled(const caf::strong_actor_ptr& from,
                        std::uint64_t number) override;
  void fire(std::uint64_t payload) override;

private:
  using caller = std::pair<caf::actor_addr, std::uint64_t>;

  enum class stage {
    /// For a connection.
    waits,
    /// Its connection is being opened.
    connects,
    sent,
    delivered,
  };

  struct link_call {
    portable::reply_to from;
    caf::message content;
    /// The call, if it may have to arrive once more.
    caf::message duplicate;
    draw_key key{0};
    bool from_client = false;
    /// More than one in a batch.
    std::uint64_t requests = 1;
    /// Which replica it goes to.
    std::size_t to = 0;
    stage at = stage::sent;
    bool given_up = false;
    /// It or its answer: nothing will come of it.
    bool lost = false;
    connection_use use = {};
    /// Ends its wait, or the opening of its connection.
    timers::handle due = {};
  };

  // Marks the timer of a call's cancellation, or of a fault, instead of that
  // of the call itself.
  static constexpr std::uint64_t cancel_bit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t fault_begin = std::uint64_t{1} << 61;
  static constexpr std::uint64_t fault_end = std::uint64_t{1} << 60;

  [[nodiscard]] bool balances() const { return plan_.behind.size() > 1; }
  [[nodiscard]] bool crosses(std::size_t replica) const {
    return !crosses_.empty() && crosses_[replica];
  }
  void plan_message_faults();
  void keep_caller(std::uint64_t key, const portable::reply_to& from);
  void depart(std::uint64_t key, link_call& c);
  void send(std::uint64_t key, link_call& c);
  void deliver(std::uint64_t key, link_call& c);
  void answer(std::uint64_t key, link_call& c);
  void answer_lost(std::uint64_t key, link_call& c);
  void give_up_on(std::uint64_t key, link_call& c);
  void forget(std::uint64_t key, link_call& c, const portable::reply_to& from);
  [[nodiscard]] std::optional<duration>
  travel(draw_key key, std::size_t replica, const message_faults::way& way);
  duration transmission(time_point& free_at, std::uint64_t bytes);
  void fault_is_due(std::uint64_t payload);

  // -- connections ------------------------------------------------------------

  void ask_for_connection(std::uint64_t key, link_call& c);
  void has_connection(std::uint64_t key, link_call& c,
                      link_connections::grant how);
  void reject_call(std::uint64_t key, link_call& c, errc code);
  void wait_is_over(std::uint64_t key, link_call& c);
  void release(link_call& c, bool open);
  void reassign(std::size_t replica, std::uint32_t age, bool open);
  bool given_up_before_sent(std::uint64_t key, link_call& c);
  void connection_of_given_up(link_call& c);
  void free_stuck();
  [[nodiscard]] bool is_cut(std::size_t replica) const;

  world_context world_;
  link_plan plan_;
  const edge_config& edge_;
  zone_balancer balancer_;
  /// By replica: whether it is in another zone than the caller; empty if no
  /// message crosses zones.
  std::vector<bool> crosses_;
  message_faults faults_;
  /// Whether it must know which call a caller means.
  bool knows_callers_;
  slot_table<link_call> calls_;
  /// Which call a caller means.
  std::map<caller, std::uint64_t> by_caller_;
  /// From when on the next request and the next answer can be sent.
  time_point uplink_free_at_;
  time_point downlink_free_at_;
  link_connections connections_;
};

} // namespace caisson::sim
