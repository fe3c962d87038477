// State that the parts of an engine share.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/call_table.hpp>
#include <caisson/engine/caller_watch.hpp>
#include <caisson/engine/durations.hpp>
#include <caisson/engine/engine_host.hpp>
#include <caisson/engine/event_hub.hpp>
#include <caisson/engine/gate_config.hpp>
#include <caisson/engine/layer_table.hpp>
#include <caisson/engine/mailbox_probe.hpp>
#include <caisson/engine/secret_source.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/engine/tallies.hpp>
#include <caisson/engine/tracer.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/policy/outcome.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace caisson::detail {

/// What an engine is made from.
struct engine_setup {
  gate_config config;
  std::vector<std::unique_ptr<layer>> layers;
  supervision_config supervision = {};
  /// The worker belongs to a group: when it should restart, the host is
  /// notified, and says when.
  bool grouped = false;
  /// Whether the host can make child calls of policies.
  bool makes_children = true;
  /// Says what answers mean; may be empty.
  answer_adapter adapter = {};
  /// Which calls are dead letters if they fail; nothing: none.
  std::optional<dead_letter_calls> dead_letters = {};
  /// Seeds what policies draw.
  std::uint64_t seed = 0;
  /// Seeds what must not be guessed; empty: from the machine's entropy.
  std::optional<std::uint64_t> secret_seed = {};
  /// Names this engine in the paths of calls.
  std::uint64_t path_key = 0;
  /// Cancel the wake-up when nothing is due any more. Where the clock has its
  /// own thread, that costs about as much as a call, and a wake-up without
  /// effect is cheaper.
  bool exact_timers = false;
};

struct engine_totals {
  std::int64_t calls = 0;
  std::int64_t plain_sends = 0;
  std::int64_t acquires = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t attempts = 0;
  std::int64_t late_results = 0;
  std::int64_t expired = 0;
  std::int64_t expired_on_arrival = 0;
  std::int64_t refused_draining = 0;
  std::int64_t refused_full = 0;
  std::int64_t refused_invalid = 0;
  std::int64_t refused_loop = 0;
  std::int64_t cancelled = 0;
  std::int64_t no_such_permit = 0;
  std::int64_t released_neutral = 0;
  std::int64_t renewals = 0;
  std::int64_t worker_losses = 0;
  std::int64_t dead_letters = 0;
  /// Calls and requests that were live when the totals were reset.
  std::int64_t carried_over = 0;
  /// Of `acquires`: those to which nobody waits for an answer.
  std::int64_t without_holder = 0;
  /// Of `failed`: by the number of the Caisson error, under 0 all others.
  std::array<std::int64_t, std::size_t{last_errc} + 1> errors = {};
  /// What the adapter said, by class.
  std::array<std::int64_t, static_cast<std::size_t>(last_answer_class) + 1>
    answers = {};

  /// A call or lease has ended.
  void count_end(const outcome& o) {
    if (o.ok) {
      ++succeeded;
    } else if (o.neutral) {
      ++released_neutral;
    } else {
      ++failed;
      ++errors[o.own_error && o.code <= last_errc ? o.code : 0];
    }
  }

  /// What came in.
  [[nodiscard]] std::int64_t begun() const noexcept {
    return carried_over + calls + acquires;
  }

  /// What was refused, or has ended.
  [[nodiscard]] std::int64_t over() const noexcept {
    return without_holder + refused_draining + refused_full + refused_invalid
           + refused_loop + succeeded + failed + released_neutral;
  }
};

/// The state of an engine, on which its parts act.
struct engine_core {
  engine_core(engine_host& h, engine_setup s);

  engine_core(const engine_core&) = delete;
  engine_core& operator=(const engine_core&) = delete;

  engine_host& host;
  /// Its name and its seed do not change.
  gate_config config;
  const supervision_config supervision;
  /// These two change with the worker.
  answer_adapter adapter;
  std::optional<dead_letter_calls> dead_letters;
  const std::uint64_t path_key;
  const bool exact_timers;
  const bool grouped;
  const bool makes_children;
  random_source random;
  secret_source secrets;
  engine_totals totals;
  call_table calls;
  /// How many of them are children.
  std::int64_t children = 0;
  /// The place of the call that was taken up last in this step.
  std::uint32_t current_call = call_table::no_record;
  event_hub events;
  tracer traces;
  layer_table layers;
  durations times;
  tallies needs;
  call_timers timers;
  caller_watch callers;
  mailbox_probe mailbox;

  [[nodiscard]] time_point now() const noexcept { return layers.now(); }

  /// Whether the call is a dead letter if it fails: then what it sent is kept
  /// until its end. It was not if it was sent to an earlier worker, whose calls
  /// were none.
  [[nodiscard]] bool may_be_dead_letter(const call_record& r) const noexcept {
    return dead_letters && !r.child && !r.lease && !r.content_gone
           && are_dead_letters(r.from);
  }

  /// Whether the calls of such a caller are dead letters if they fail.
  [[nodiscard]] bool are_dead_letters(const reply_slot& from) const noexcept {
    return dead_letters
           && (*dead_letters == dead_letter_calls::all
               || !from.expects_reply());
  }

  /// Whether its content is needed after it was sent.
  [[nodiscard]] bool keeps_content(const call_record& r) const noexcept {
    return layers.resends() || may_be_dead_letter(r);
  }

  /// What the call sends, to be sent: a copy if it is needed later.
  [[nodiscard]] caf::message content_to_send(call_record& r) const {
    if (keeps_content(r))
      return r.payload;
    r.content_gone = true;
    return std::move(r.payload);
  }

  /// What follows is for that call, as the texts of violated invariants say.
  void take_up(const call_record& r) noexcept { current_call = r.index; }

  /// Sets a call's timer to whatever comes first.
  void schedule(call_record& r);

  /// Answers the call's caller, if that waits for it.
  void answer(call_record& r, caf::message&& content);

  /// Between two calls: the totals cover what has come in, and the phases of
  /// calls all that live.
  void check_totals() const;

  /// The message of an error of the gate's, or of a layer's.
  [[nodiscard]] caf::message refusal(errc code, std::string text = {}) const;
};

} // namespace caisson::detail
