// The host behind a guard: an engine that threads share.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/gate/detail/guard/attempt_maker.hpp>
#include <caisson/gate/detail/guard/guard_clock.hpp>
#include <caisson/gate/detail/guard/opened_call.hpp>
#include <caisson/gate/result.hpp>
#include <caisson/stack/stack.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace caisson::detail {

class async_call;
struct guard_parts;

/// A host of an engine whose callers are threads or event loops. A thread makes
/// the attempts of its own calls and waits in between; those of an event loop
/// are carried on by the threads in which something happens (`async_call`). All
/// functions are safe to call from any thread. They pass on to the parts.
///
/// If memory is exhausted in one of them, the process ends: the engine would be
/// left with calls whose threads have gone.
class guard_host {
public:
  using listener = std::function<void(const event&)>;
  using exception_classifier = std::function<std::optional<answer_info>(
    const std::exception_ptr&)>;

  /// Throws `config_error` if something is wrong with the stack. `sys` may be
  /// null.
  guard_host(caf::actor_system* sys, const stack& policies,
             exception_classifier classify,
             guard_clock& clock = guard_clock::steady());
  /// Stops, and waits for threads that are on their way out.
  ~guard_host();

  guard_host(const guard_host&) = delete;
  guard_host& operator=(const guard_host&) = delete;

  [[nodiscard]] const exception_classifier& classifier() const noexcept {
    return classify_;
  }

  /// `options` may be null. Throws `std::logic_error` in a function that the
  /// engine calls.
  call_end call(call_options* options, attempt_maker& maker);

  /// The same of a call that no thread waits for.
  void begin(async_call& x, call_options* options);

  /// Admits a call or refuses it, at once: one that would have to wait is
  /// refused. `options` may be null.
  opened_call open(call_options* options);
  /// The work of a call that was admitted is over; without a result it says
  /// nothing. Each token once.
  void close(std::uint64_t token, const std::optional<attempt_result>& how);

  [[nodiscard]] status get_status();
  /// Return an error if nothing was changed.
  [[nodiscard]] caf::error apply(const reconfigure& x);
  [[nodiscard]] caf::error apply(const command& x);
  void listen_to_events(listener f);
  /// Returns when the last call is over.
  void drain();
  /// Answers everything with `cancelled`; returns at once.
  void stop();

private:
  const exception_classifier classify_;
  const std::unique_ptr<guard_parts> parts_;
};

} // namespace caisson::detail
