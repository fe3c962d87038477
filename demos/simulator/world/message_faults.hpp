// Effect of faults on the messages of a route.
#pragma once

#include <simulator/scenario/message_fault_index.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/zones.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Who calls whom, for the faults that hit messages between groups.
struct route_ends {
  /// A load or a service.
  std::string_view caller;
  /// Which of its replicas, from 1 on; 0 for a load.
  std::uint32_t caller_number = 0;
  std::string_view service;
  /// How many replicas that has.
  std::uint32_t replicas = 1;
  /// Where these are: the map, and the number of the service in it; null if
  /// there are no zones.
  const zone_map* zones = nullptr;
  std::size_t service_index = 0;
  /// Where the caller is; empty if that is no zone.
  std::string_view caller_zone = {};
};

/// The faults that hit the messages between a caller and the replicas of a
/// service, and what those of the present do.
class message_faults {
public:
  /// What becomes of the messages from the caller to a replica, or back.
  struct way {
    /// Faults under which all are lost.
    std::uint32_t cuts = 0;
    /// The probability that one is not lost otherwise.
    double passes = 1;
    /// How much longer each takes.
    duration delay = duration::zero();
  };

  /// Only those of `all` that hit a message between `ends` are known below; its
  /// arm must outlive this.
  message_faults(const message_fault_index& all, const route_ends& ends);

  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }
  [[nodiscard]] const fault_config& operator[](std::size_t i) const {
    return *known_[i].config;
  }

  void begin(std::size_t i) { change(i, true); }
  void end(std::size_t i) { change(i, false); }

  /// Of calls to this replica, counted from 0 on.
  [[nodiscard]] const way& on_requests(std::size_t replica) const {
    return requests_[replica % requests_.size()];
  }
  /// Of answers from it.
  [[nodiscard]] const way& on_answers(std::size_t replica) const {
    return answers_[replica % answers_.size()];
  }

private:
  struct known {
    const fault_config* config = nullptr;
    bool active = false;
    /// By replica: whether calls to it and answers from it are hit.
    std::vector<bool> requests;
    std::vector<bool> answers;
  };

  void change(std::size_t i, bool active);
  void combine(std::vector<way>& ways, std::vector<bool> known::*hit);

  std::vector<known> known_;
  /// By replica; a single one for all if there are no faults.
  std::vector<way> requests_;
  std::vector<way> answers_;
};

} // namespace caisson::sim
