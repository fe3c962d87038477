// The gates and groups of a set by name, for any thread.
#pragma once

#include <caisson/caf/call_handle.hpp>
#include <caisson/config/gate_file.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

class gate_directory {
public:
  using handles = std::map<std::string, control_handle, std::less<>>;

  [[nodiscard]] control_handle find(std::string_view name) const {
    std::lock_guard guard{mutex_};
    auto i = gates_.find(name);
    return i != gates_.end() ? i->second : control_handle{};
  }

  [[nodiscard]] supervision_group find_group(std::string_view name) const {
    std::lock_guard guard{mutex_};
    auto i = groups_.find(name);
    return i != groups_.end() ? i->second : supervision_group{};
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::lock_guard guard{mutex_};
    std::vector<std::string> out;
    out.reserve(gates_.size());
    for (const auto& [name, gate] : gates_)
      out.push_back(name);
    return out;
  }

  void assign(handles gates, group_handles groups) {
    // Handles may be the last ones: what ends with them ends without the lock.
    std::lock_guard guard{mutex_};
    gates_.swap(gates);
    groups_.swap(groups);
  }

private:
  mutable std::mutex mutex_;
  handles gates_;
  group_handles groups_;
};

} // namespace caisson::detail
