// What stands behind a gate.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/supervision.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace caisson {

/// Makes a worker, or says why it cannot; also called to make it again.
using worker_factory = std::function<caf::expected<caf::actor>(
  caf::actor_system&)>;

/// The worker of a gate: none, an actor somebody else looks after (local or
/// remote, a gate or not), or a factory whose actor the gate supervises.
class worker {
public:
  /// No worker: for gates that only hand out permits.
  worker() = default;

  /// An existing actor. When it is down, calls are answered with
  /// `worker_down` from then on. A null handle is down from the start.
  worker(caf::actor handle) : handle_(std::move(handle)), given_(true) {}

  /// An existing actor with a typed interface.
  template <class... Sigs>
  worker(const caf::typed_actor<Sigs...>& handle)
    : worker(caf::actor_cast<caf::actor>(handle)) {}

  /// The gate makes the worker when it starts, watches it, makes it again by
  /// the schedule of `s` when it dies, and ends it when it ends itself. Calls
  /// that arrive while there is no worker wait, at most `s.max_waiting`.
  static worker supervised(worker_factory make, supervision_config s = {}) {
    worker w;
    w.supervised_ = true;
    w.make_ = std::move(make);
    w.supervision_ = std::move(s);
    return w;
  }

  /// The factory may block (it connects over the network, say): it runs on a
  /// thread of its own. Not for virtual time.
  worker&& on_own_thread() && {
    own_thread_ = true;
    return std::move(*this);
  }

  /// The worker is a gate on another node. It is sent `call` envelopes and
  /// `cancelled`, and is believed when it says that a call did not reach a
  /// worker. Gates of the same system are recognised.
  worker&& is_gate() && {
    gate_ = true;
    return std::move(*this);
  }

  /// The worker takes `call` envelopes and so learns what time is left.
  worker&& takes_calls() && {
    takes_calls_ = true;
    return std::move(*this);
  }

  /// The worker handles `cancelled`: it is told when nobody waits any more for
  /// what it was sent.
  worker&& takes_cancelled() && {
    takes_cancelled_ = true;
    return std::move(*this);
  }

  [[nodiscard]] const caf::actor& handle() const noexcept { return handle_; }
  [[nodiscard]] bool given() const noexcept { return given_; }
  [[nodiscard]] const worker_factory& factory() const noexcept { return make_; }
  [[nodiscard]] const supervision_config& supervision() const noexcept {
    return supervision_;
  }
  [[nodiscard]] bool is_supervised() const noexcept { return supervised_; }
  [[nodiscard]] bool declared_gate() const noexcept { return gate_; }
  [[nodiscard]] bool runs_on_own_thread() const noexcept { return own_thread_; }
  [[nodiscard]] bool wants_calls() const noexcept {
    return takes_calls_ || gate_;
  }
  [[nodiscard]] bool wants_cancelled() const noexcept {
    return takes_cancelled_ || gate_;
  }

private:
  caf::actor handle_;
  worker_factory make_;
  supervision_config supervision_;
  bool given_ = false;
  bool supervised_ = false;
  bool gate_ = false;
  bool own_thread_ = false;
  bool takes_calls_ = false;
  bool takes_cancelled_ = false;
};

} // namespace caisson
