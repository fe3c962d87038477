// Operates a guard: its status, settings, events and end.
#pragma once

#include <caisson/gate/detail/guard/guard_core.hpp>

namespace caisson::detail {

/// What operators ask of a guard. All functions take the mutex; see
/// `guard_host`.
class guard_operation {
public:
  /// `core` must outlive this.
  explicit guard_operation(guard_core& core) : core_(core) {}

  [[nodiscard]] status get_status();
  [[nodiscard]] caf::error apply(const reconfigure& x);
  [[nodiscard]] caf::error apply(const command& x);
  void listen_to_events(guard_events::listener f);
  void drain();
  void stop();

private:
  template <class F>
  caf::error operate(F f);

  guard_core& core_;
};

} // namespace caisson::detail
