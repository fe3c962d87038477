// The gates of an actor system, watched from any thread.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/field.hpp>
#include <caisson/gate_snapshot.hpp>
#include <caisson/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace caisson {

namespace detail {
class snapshot_hub;
} // namespace detail

/// One gate, and what it has published last.
struct watched_gate {
  std::string name = {};
  /// Distinguishes gates with the same name: 1 for the first, and for each
  /// further one the lowest number that is free when it starts.
  std::uint32_t number = 1;
  /// Never null; does not change.
  std::shared_ptr<const gate_snapshot> last = {};
};

struct gate_watch_config {
  /// A gate publishes what has changed after at most this time, and not more
  /// often: 10 ms to 1 h, default 1 s. If there are several watches, the
  /// shortest time applies.
  duration every = std::chrono::seconds(1);

  /// How many keys of a layer with a policy for each key are published, the
  /// busiest first: 0 to 100, default none. If there are several watches, the
  /// largest number applies.
  std::uint32_t keys = 0;
};

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
