// Decides which workers of a supervision group stop and start, and when.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caisson::detail {

/// The state machine of a supervision group; knows no actors. Every input takes
/// logarithmic time for each order that it causes.
class group_plan {
public:
  using member_id = std::size_t;

  struct order {
    member_id to;
    member_order what;
    std::uint64_t number;
    std::string why;
  };

  /// Throws `config_error` if `c` is not valid.
  explicit group_plan(supervision_group_config c);

  // -- what members report ----------------------------------------------------

  /// A member that starts its worker by itself.
  member_id join(std::uint32_t rank);

  /// Its worker is lost; it will ask for its turn (`due`). Here and in `on_up`,
  /// `after` is the last order that the member had carried out.
  void on_down(member_id id, std::uint64_t after, time_point now,
               const std::string& why);

  /// It is time to start its worker again.
  void on_due(member_id id);

  /// Its worker has started.
  void on_up(member_id id, std::uint64_t after);

  /// Its worker has ended, which concerns nobody else. If it `restarts`, it
  /// does so with others.
  void on_ended(member_id id, std::uint64_t after, bool restarts);

  /// A member has given its worker up.
  void on_gave_up(const std::string& why);

  /// It has ended. When all have, the group begins anew: what it has given up
  /// is of no concern to those who join then.
  void leave(member_id id);

  // -- settings ---------------------------------------------------------------

  [[nodiscard]] const supervision_group_config& config() const noexcept {
    return config_;
  }

  /// Holds for what happens from now on. Members that wait for their turn under
  /// a strategy that has none any more start at once.
  /// @pre `c` is valid.
  void reconfigure(const supervision_group_config& c);

  // -- what they are to do ----------------------------------------------------

  /// The orders since the last call, in the order in which they are to be
  /// given.
  [[nodiscard]] std::vector<order> take_orders() {
    return std::exchange(orders_, {});
  }

  // -- figures ----------------------------------------------------------------

  /// Whether all workers have been given up.
  [[nodiscard]] bool is_over() const noexcept { return over_; }

  [[nodiscard]] std::size_t members() const noexcept {
    return members_.size() - free_.size();
  }

  /// How many members have no worker that is up.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_.size(); }

  /// How many members have a worker that has ended, and that nobody waits for.
  [[nodiscard]] std::size_t ended() const noexcept {
    return ended_.size() + finished_.size();
  }

  [[nodiscard]] std::uint64_t losses() const noexcept { return losses_; }

private:
  enum class state : std::uint8_t {
    up,
    // Lost; its gate waits for the delay of its schedule.
    failing,
    // Waits for its turn.
    due,
    starting,
    // Has ended; starts again with others.
    ended,
    // Has ended, and does not.
    finished,
    gone,
  };

  struct member {
    std::uint32_t rank = 0;
    state at = state::up;
    /// How many orders it was given.
    std::uint64_t orders = 0;
  };

  // Members with the same rank take turns in the order in which they joined.
  using place = std::pair<std::uint32_t, member_id>;

  [[nodiscard]] place place_of(member_id id) const {
    return {members_[id].rank, id};
  }
  void move_to(member_id id, state next);
  void send_order(member_id id, member_order what, std::string why);
  void stop_others(member_id failed, const std::string& why);
  void start_next();
  void start_due();
  void start(member_id id);
  bool within_limit(time_point now);
  void give_up(const std::string& why);

  supervision_group_config config_;
  std::vector<member> members_;
  std::vector<member_id> free_;
  // Those with a worker, or with one that is being started.
  std::set<place> running_;
  // Those whose worker is not up.
  std::set<place> pending_;
  // Those whose worker has ended.
  std::set<place> ended_;
  std::set<place> finished_;
  // The losses of the last `period`, oldest first.
  std::deque<time_point> recent_;
  std::vector<order> orders_;
  std::uint64_t losses_ = 0;
  bool over_ = false;
};

} // namespace caisson::detail
