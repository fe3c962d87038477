// The gates that an operator may control.
#pragma once

#include <caisson/observe/control/server.hpp>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Its functions may be called by several threads at once.
class gate_table {
public:
  using named_gate = std::pair<std::string, control_handle>;

  /// False if the name is taken.
  bool add(std::string name, control_handle gate);
  void add(controlled_gates gates);

  /// In alphabetical order.
  [[nodiscard]] std::vector<named_gate> all() const;

  /// A null handle if there is none.
  [[nodiscard]] control_handle find(std::string_view name) const;

  /// Who reloads the files of gates: each takes `reload`.
  [[nodiscard]] std::vector<caf::actor> controllers() const;

private:
  [[nodiscard]] std::vector<controlled_gates> sets() const;

  mutable std::mutex mutex_;
  std::map<std::string, control_handle, std::less<>> single_;
  std::vector<controlled_gates> sets_;
};

} // namespace caisson::detail
