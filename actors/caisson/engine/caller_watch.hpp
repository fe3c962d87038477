// Watches callers on behalf of their calls.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/linked.hpp>
#include <caisson/engine/call_record.hpp>
#include <caisson/engine/engine_host.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace caisson::detail {

struct idle_caller;

/// A watched caller, and its calls that wait here.
struct watched_caller : link<idle_caller> {
  std::uint64_t caller = 0;
  caller_calls calls;
};

/// Watches the callers of calls that wait: if one dies, its calls give back
/// what they hold. Callers that have no call here at present stay watched for a
/// while, up to a bound, because they will probably wait here again.
class caller_watch {
public:
  static constexpr std::size_t max_idle = 1024;

  explicit caller_watch(engine_host& host) : host_(host) {}

  caller_watch(const caller_watch&) = delete;
  caller_watch& operator=(const caller_watch&) = delete;

  /// Watches the caller of a call, unless there is none or it is watched.
  void watch(call_record& r);

  /// The call has ended, or does not wait any more.
  void release(call_record& r);

  /// The caller has ended: hands each of its calls to `cancel`, which must
  /// `release` it.
  template <class F>
  void on_down(std::uint64_t caller, F cancel) {
    auto i = callers_.find(caller);
    if (i == callers_.end())
      return;
    auto& c = i->second;
    while (!c.calls.empty())
      cancel(c.calls.front());
    // The last one has made it idle; unless it was that already.
    CAISSON_ENSURE(idle_count_ > 0 && c.caller == caller,
                   "of {} callers that end none is idle", callers_.size());
    c.unlink();
    --idle_count_;
    callers_.erase(i);
  }

  void clear() {
    callers_.clear();
    idle_count_ = 0;
  }

private:
  engine_host& host_;
  std::unordered_map<std::uint64_t, watched_caller> callers_;
  linked_list<watched_caller, idle_caller> idle_;
  std::size_t idle_count_ = 0;
};

} // namespace caisson::detail
