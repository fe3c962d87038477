// Thread-safe snapshots of all gates of an actor system.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/engine/gate_snapshot.hpp>
#include <caisson/settings/field.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace caisson {

namespace detail {
class snapshot_hub;
} // namespace detail

void describe(field_visitor& v, gate_watch_config& c);

/// As long as it lives, all gates of a system, local ones included, publish
/// snapshots of their state: when the watch begins, and whenever something has
/// changed. Reading them sends no message and waits for no gate. An idle gate
/// publishes its state once and then does nothing; without a watch no gate does
/// anything.
///
/// A local gate has no mailbox: it begins to publish with the next call, and if
/// its actor has no behaviour, what happens within `every` of a publication is
/// published with the next call after that.
///
/// Its functions may be called from any thread. It must not outlive the system.
class gate_watch {
public:
  /// Throws `config_error` if the configuration is not valid.
  explicit gate_watch(caf::actor_system& sys, gate_watch_config c = {});
  ~gate_watch();

  gate_watch(const gate_watch&) = delete;
  gate_watch& operator=(const gate_watch&) = delete;

  /// All gates that have published something and have not ended, in the order
  /// of their names and numbers.
  [[nodiscard]] std::vector<watched_gate> gates() const;

private:
  gate_watch_config config_;
  std::shared_ptr<detail::snapshot_hub> hub_;
};

} // namespace caisson
