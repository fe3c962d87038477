// A permit that releases itself.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace caisson {

/// A permit as an object: its destructor releases it, so it cannot leak, even
/// if a handler throws.
///
///     portable::ask(this, desk, portable::no_timeout, acquire{})
///       .then(with_ticket(desk, [this](ticket t) { held_ = std::move(t); }),
///             [](const caf::error&) { … });
///
/// The gate answers by the deadline of the `acquire`, so the request needs no
/// timeout of its own: a permit that comes after one would be lost until the
/// lease ends.
///
/// Each ticket sends at most one `release`. If the lease has ended by then (its
/// time is over, its holder has died, the gate has ended), that has no effect
/// but in the gate's counter `no_such_permit`.
///
/// A ticket keeps its gate alive, and must not outlive the actor system. It may
/// be moved to and destroyed on any thread, unless it is that of a local gate.
class ticket {
public:
  /// Sends a `release`; must not throw.
  using sender = std::function<void(const caisson::release&)>;

  /// Holds nothing.
  ticket() noexcept = default;

  /// Holds the answer of `gate`, or of a call handle of it, to an `acquire`.
  /// `at_end` is what the destructor reports about the work.
  ticket(caf::actor gate, const permit& lent,
         release_outcome at_end = release_outcome::success);

  /// The same with another way to send the release.
  ticket(sender send, const permit& lent,
         release_outcome at_end = release_outcome::success);

  /// Takes over the permit of `other`, which then holds none.
  ticket(ticket&& other) noexcept;

  /// Ends what it held before.
  ticket& operator=(ticket&& other) noexcept;

  /// If an exception that was thrown since the ticket came here destroys it,
  /// the work has failed.
  ~ticket();

  /// Whether it holds a permit that it has not released. The lease may have
  /// ended nevertheless.
  explicit operator bool() const noexcept { return lent_.id != 0; }

  /// The permit; with `id` 0 if it holds none.
  [[nodiscard]] const permit& lent() const noexcept { return lent_; }

  /// What to send to the gate, as a request from the holder, to prolong the
  /// lease to `time_left` from then on.
  [[nodiscard]] renew renewal(duration time_left) const noexcept {
    return {lent_.id, time_left};
  }

  // Each of these ends the ticket; without a permit they do nothing.

  /// The work succeeded.
  void release() noexcept { end(release_outcome::success); }
  /// The work failed: a breaker counts it.
  void fail() noexcept { end(release_outcome::failure); }
  /// The work says nothing about the worker.
  void ignore() noexcept { end(release_outcome::neutral); }

  /// Hands the permit over to the caller, who releases it.
  permit detach() noexcept;

private:
  void end(release_outcome how) noexcept;

  sender send_;
  permit lent_;
  release_outcome at_end_ = release_outcome::success;
  // Exceptions in flight when it came here.
  int exceptions_ = 0;
};

/// A handler for the answer to an `acquire`, which calls `f` with a ticket.
template <class F>
[[nodiscard]] auto with_ticket(caf::actor gate, F f) {
  return [gate = std::move(gate), f = std::move(f)](const permit& x) mutable {
    f(ticket{gate, x});
  };
}

} // namespace caisson
