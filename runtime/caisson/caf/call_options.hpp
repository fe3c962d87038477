// A caller's options for a call.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/propagated_fields.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace caisson {

CAISSON_ENUM(idempotence, idempotence::no)

/// What `time_left` is once the time is over: zero would mean that it is not
/// set.
inline constexpr duration no_time_left{-1};

// Crosses the network as a list of texts.
#if CAISSON_CAF_LEGACY
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, propagated_fields& x) {
  auto texts = x.to_list();
  auto set = [&]() -> caf::error {
    x = propagated_fields::from_list(texts);
    return caf::none;
  };
  return f(caf::meta::type_name("propagated_fields"), texts,
           caf::meta::load_callback(set));
}
#else
template <class Inspector>
bool inspect(Inspector& f, propagated_fields& x) {
  auto get = [&x] { return x.to_list(); };
  auto set = [&x](std::vector<std::string>&& texts) {
    x = propagated_fields::from_list(texts);
    return true;
  };
  return f.object(x).fields(f.field("texts", get, set));
}
#endif

/// A caller's options for a call, passed along chained gates.
struct call_options {
  /// How much time is left, counted from the receipt by the next gate. Zero:
  /// not set; negative: none. The shorter of this and `deadline_ns` applies.
  duration time_left = duration::zero();
  /// When the answer is due, within one node; zero: not set. A gate refuses a
  /// call from another node that sets it.
  std::int64_t deadline_ns = 0;
  std::int32_t priority = 0; ///< Higher is more important.
  std::uint32_t permits = 1; ///< At semaphores and limiters; 0 counts as 1.
  /// Whether it may be carried out twice.
  idempotence idempotent = idempotence::unmarked;
  std::uint32_t attempt = 1; ///< Of the call; retriers increment it.
  /// Groups calls for policies that keep state per key; at most
  /// `max_key_length` bytes.
  std::string key = {};
  /// The gates that the call has passed, at most `max_path_length`, to detect
  /// cycles. For gates only.
  std::vector<std::uint64_t> path = {};
  /// The same for all attempts at this call and for no other call, so that a
  /// worker can recognise it (see deduplicator.hpp); empty: it cannot. At most
  /// `max_key_length` bytes.
  std::string idempotency_key = {};
  /// Where the call belongs in a distributed trace, as W3C Trace Context says
  /// (see trace_context.hpp); empty: in none. A gate ignores an invalid one.
  std::string traceparent = {};
  /// Decides between calls of equal `priority`, for shedders: 1 to 128, higher
  /// is more important. 0, and what is larger: by `key`, or by chance.
  std::uint8_t user_priority = 0;
  std::uint16_t stands_for = 0; ///< As in `call_info`. For gates only.
  /// What tracing systems and callers say of the call, for all that it goes to:
  /// `tracestate` and `baggage`.
  propagated_fields propagated = {};
};
CAISSON_MESSAGE(call_options, time_left, deadline_ns, priority, permits,
                idempotent, attempt, key, path, idempotency_key, traceparent,
                user_priority, stands_for, propagated)

} // namespace caisson
