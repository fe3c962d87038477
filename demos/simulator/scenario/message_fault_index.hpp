// Finds the faults that hit messages between two.
#pragma once

#include <simulator/scenario/groups.hpp>
#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// The faults of an arm that hit messages, by the names on their sides: the
/// time to find those between two does not grow with the number of faults.
class message_fault_index {
public:
  struct entry {
    const fault_config* config = nullptr;
    group_members from;
    group_members to;
  };

  /// `arm` must outlive this.
  explicit message_fault_index(const arm_config& arm);

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  using names = std::vector<std::string_view>;

  /// All that can hit messages between `a` and `b`, each the names of a load or
  /// service and of the zones that it is in, in the order of the arm; and
  /// perhaps some that cannot.
  [[nodiscard]] std::vector<const entry*> between(const names& a,
                                                  const names& b) const;

private:
  /// Numbers of entries.
  using numbers = std::vector<std::size_t>;
  using by_name = std::map<std::string_view, numbers>;

  static void find(const by_name& from, const names& all, numbers& out);
  static std::size_t count(const by_name& in, const names& all);

  std::vector<entry> all_;
  /// Those without, with one and with two sides that are everyone.
  by_name of_none_;
  by_name of_one_;
  numbers of_two_;
};

} // namespace caisson::sim
