// Writes events of gates to CAF's log, a stream, a file or a function.
#pragma once

#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/observe/event_text.hpp>
#include <caisson/settings/field.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

namespace caisson {

namespace detail {
class event_target;
class event_writer;
} // namespace detail

/// How much a log keeps for what is slower than the gates.
struct event_log_config {
  /// How many events may wait to be written: 1 to 1000000, default 10000.
  /// Beyond that events are dropped and counted.
  std::uint32_t backlog = 10'000;
};

void describe(field_visitor& v, event_log_config& c);

/// Writes events of gates from a thread of its own, so that no gate and no
/// actor waits for a slow disk. It takes no messages into a mailbox: what waits
/// is bounded by `backlog`, and what is dropped is counted.
///
/// It ends when it is destroyed or closed: what waits is written first, however
/// long that takes. It must not outlive the system. Its functions may be called
/// from any thread.
class event_log {
public:
  /// What gets an event, and when that happened by the calendar. Called by one
  /// thread, in order. What it throws is counted (`failed`).
  using function = std::function<void(const event&, utc_time)>;

  /// Calls `f`. All of these throw `config_error` if the configuration is not
  /// valid.
  [[nodiscard]] static event_log to_function(caf::actor_system& sys, function f,
                                             event_log_config c = {});

  /// Writes to CAF's log, under the component `caisson`: what is wrong as
  /// warnings (a worker that is not up, a function that threw, a lost write, a
  /// breaker that opens), ends of traced calls and beginnings of waits at level
  /// debug, the rest at level info.
  [[nodiscard]] static event_log to_caf(caf::actor_system& sys,
                                        event_log_config c = {});

  /// Writes lines of `to_json`. After a gap comes a line of `dropped_to_json`.
  /// Nothing else may use the stream before `close`.
  [[nodiscard]] static event_log
  to_stream(caf::actor_system& sys, std::ostream& out, event_log_config c = {});

  /// Appends the same lines to a file. Throws `config_error` if it cannot be
  /// opened.
  [[nodiscard]] static event_log to_file(caf::actor_system& sys,
                                         const std::string& path,
                                         event_log_config c = {});

  /// The other log has none any more: its functions do nothing.
  event_log(event_log&&) noexcept;
  event_log& operator=(event_log&&) noexcept;
  ~event_log();

  /// Subscribes to the events of a gate of this node, until the log or the gate
  /// ends. It may follow any number of gates. A gate takes 256 subscribers;
  /// beyond that, its refusal is written.
  void follow(const control_handle& gate);

  /// For `local_gate::on_event`: writes the events it is called with. Does
  /// nothing after `close`.
  [[nodiscard]] std::function<void(const event&)> listener() const;

  /// Waits until what has arrived so far is written. Does nothing in the
  /// function that the log calls.
  void flush();

  /// Takes no more events, and waits until those that wait are written.
  /// Further calls do nothing. In the function that the log calls, this and the
  /// destructor do not wait: the function is still called for those events, and
  /// the next call elsewhere waits for them.
  void close();

  /// How many events were written.
  [[nodiscard]] std::uint64_t written() const;
  /// How many events were dropped because too many waited.
  [[nodiscard]] std::uint64_t dropped() const;
  /// How many events were not written because the function threw or the stream
  /// did not take them.
  [[nodiscard]] std::uint64_t failed() const;

private:
  static event_log make(caf::actor_system& sys,
                        std::unique_ptr<detail::event_target> target,
                        const event_log_config& c);

  event_log(std::shared_ptr<detail::event_writer> writer,
            caf::strong_actor_ptr address);

  std::shared_ptr<detail::event_writer> writer_;
  /// Where gates send events.
  caf::strong_actor_ptr address_;
};

} // namespace caisson
