// The spans of an engine's calls in distributed traces.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/call_record.hpp>
#include <caisson/engine/call_table.hpp>
#include <caisson/engine/event_hub.hpp>
#include <caisson/engine/exemplars.hpp>
#include <caisson/policy/outcome.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace caisson::detail {

/// Gives calls with a `traceparent` a span of the gate's own, each attempt one
/// below it, and notifies subscribers when they end. Passes on what travels
/// with calls. Does nothing for other calls.
class tracer {
public:
  /// In virtual time, `seed` makes the ids of spans the same in each run; they
  /// must differ between gates. Otherwise they come from the machine's entropy,
  /// as gates of one trace may have the same configured seed.
  tracer(event_hub& events, std::optional<std::uint64_t> seed)
    : events_(events), seed_(seed) {}

  /// A call arrives with this `traceparent`, which may be anything, and with
  /// these fields.
  void begin(call_record& r, std::string_view traceparent,
             propagated_fields&& propagated);

  /// The child works for that call.
  static void inherit(call_record& child, const call_record& from);

  /// An attempt begins.
  void begin_attempt(call_record& r);

  /// What the receiver of the attempt gets; nothing if the call has no trace
  /// and no baggage.
  static void continue_in(call_options& out, const call_record& r);

  void end_attempt(time_point now, const call_record& r, const outcome& o) {
    if (r.trace && r.trace->attempt != 0)
      emit_attempt(now, r, o);
  }

  void end_call(time_point now, const call_record& r, const outcome& o) {
    if (r.trace && r.trace->in_trace())
      emit_call(now, r, o);
  }

  /// Of the traced calls that their callers record.
  [[nodiscard]] const exemplars& examples() const noexcept { return examples_; }

  void forget_examples() noexcept { examples_.clear(); }

private:
  std::uint64_t next_span();
  void note(measured what, bool ok, const call_record& r, std::uint64_t span,
            time_point now, duration took);
  void emit_attempt(time_point now, const call_record& r, const outcome& o);
  void emit_call(time_point now, const call_record& r, const outcome& o);

  event_hub& events_;
  std::optional<std::uint64_t> seed_;
  // Made for the first call that is traced: most gates have none, and it takes
  // kilobytes.
  std::unique_ptr<random_source> random_;
  exemplars examples_;
};

} // namespace caisson::detail
