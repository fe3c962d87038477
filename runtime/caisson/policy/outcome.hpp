// Outcome of a call, as policies see it, and its classification.
#pragma once

#include <caisson/base/hash.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policy/answer_class.hpp>
#include <caisson/policy/errc.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

class env;

/// How many levels of calls shedders distinguish, and the highest threshold.
inline constexpr std::uint16_t levels_of_calls = 4'096;

/// What became of a call whose attempt failed.
enum class effect : std::uint8_t {
  /// Nothing is known, or not yet: an attempt may still be in progress.
  unknown,
  /// The call was carried out.
  done,
  /// The call was not carried out, and no attempt so far can still do it.
  not_done,
};

[[nodiscard]] constexpr std::string_view name_of(effect x) noexcept {
  switch (x) {
    case effect::unknown:
      return "unknown";
    case effect::done:
      return "done";
    case effect::not_done:
      return "not_done";
  }
  return "unknown";
}

/// How an attempt ended. The reply itself stays with the gate. `reply` points
/// to it for classifiers that judge values (see `value_of` in error.hpp).
struct outcome {
  /// Whether the worker answered with a value that its adapter does not call a
  /// failure (see `worker::classified_by`).
  bool ok = true;

  /// Whether the error is one of Caisson's; then `code` is an `errc`.
  bool own_error = false;

  /// Whether the worker may have done the work. False only if it certainly did
  /// not: a policy rejected the call, there was no worker, or its answer says
  /// that nothing was done.
  bool may_have_executed = true;

  /// Whether the worker itself answered with this, not a layer or a gate.
  bool from_worker = false;

  /// Whether the holder of a permit released it as neutral: its work says
  /// nothing about the worker. Looks like `cancelled`, and the verdict is
  /// always neutral.
  bool neutral = false;

  /// Whether the server behind the worker has not answered, so that this says
  /// nothing about what the call asked for (see `answer_info::unanswered`).
  /// Errors of the category `transport` are recognised without an adapter, also
  /// behind another gate.
  bool unanswered = false;

  /// What the worker's adapter says: the time of the call was over (see
  /// `answer_info::out_of_time` and `is_time_limit`).
  bool out_of_time = false;

  /// Set by a policy in `complete`: this is how the call ended when the policy
  /// held it, before its child ended. The error names whoever caused it then.
  bool as_held = false;

  /// The error's code within its category; 0 if it is a value.
  std::uint8_t code = 0;

  /// For `shed`: calls of levels below this one are shed at present; 0: not
  /// said. At most `levels_of_calls`.
  std::uint16_t threshold = 0;

  /// What the worker's adapter says of the answer.
  answer_class kind = answer_class::unknown;

  /// The code of the answer, as lists name it, from the worker's adapter.
  answer_code answer = {};

  /// How many attempts such a call is worth, says the adapter, including the
  /// first; 0: no limit.
  std::uint32_t max_attempts = 0;

  /// Hash (`category_hash`) of the name of the error's category; 0 if it is a
  /// value.
  std::uint64_t category = 0;

  /// Do not retry earlier than this; zero if unknown, negative: do not retry.
  duration retry_after = duration::zero();

  /// The reply, a `caf::message`, or null if there is none.
  const void* reply = nullptr;

  /// Whether this is the Caisson error `x`.
  [[nodiscard]] bool is(errc x) const noexcept {
    return own_error && code == static_cast<std::uint8_t>(x);
  }

  /// Whether the call failed because its time was over, or might have
  /// succeeded with more of it.
  [[nodiscard]] bool is_time_limit() const noexcept {
    return !ok && (out_of_time || is(errc::deadline_exceeded));
  }

  /// Whether the worker's answer says that the request is at fault: the same
  /// one would be answered so again.
  [[nodiscard]] bool blames_request() const noexcept {
    return kind == answer_class::fail || kind == answer_class::conflict;
  }

  /// A value of which no adapter has said anything.
  static outcome success() noexcept { return {}; }

  /// The Caisson error `code`, from a layer or a gate, not from a worker.
  static outcome failure(errc code, bool may_have_executed,
                         duration retry_after = duration::zero()) noexcept;

  /// The work says nothing about the worker.
  static outcome without_verdict() noexcept;
};

/// The hash of a category's name, so that outcomes need no strings.
[[nodiscard]] constexpr std::uint64_t
category_hash(std::string_view name) noexcept {
  return detail::fnv1a(name);
}

/// The `outcome::category` of Caisson's own errors.
inline constexpr std::uint64_t caisson_category = category_hash("caisson");

/// How a policy classifies an outcome.
enum class verdict : std::uint8_t {
  /// The worker succeeded.
  success,
  /// The worker failed, and a retry would not help.
  failure,
  /// The worker failed, but a retry may succeed: a failure to a breaker,
  /// retried by a retrier.
  transient,
  /// Says nothing about the worker: neither success nor failure, no retry.
  neutral,
  /// Rejected before any work: says nothing about the worker (neutral to a
  /// breaker), and a retrier may retry it, not before `retry_after`.
  refused,
};

/// What it means for an error to be on one of a classifier's lists.
struct list_meaning {
  /// Named by `allow`.
  verdict allowed;
  /// Not named by `allow`, which is not empty.
  verdict other;
  /// Named by `deny`.
  verdict denied;
  /// Named by neither, and of the class `fail` or `conflict`: the server works,
  /// but the same request would fail again.
  verdict at_fault = verdict::failure;
};

/// What lists mean to retriers: allowed errors are retried, all others are
/// final.
inline constexpr list_meaning retry_lists{verdict::transient, verdict::failure,
                                          verdict::failure};

/// For breakers: allowed errors count, all others are ignored. A server that
/// rejects a bad request is healthy.
inline constexpr list_meaning count_lists{verdict::transient, verdict::neutral,
                                          verdict::neutral, verdict::success};

/// Classifies outcomes. The rules apply in this order: the function, the deny
/// list, the allow list, the class of the answer, the default table. None of
/// them applies to a permit that was released as neutral.
class classifier {
public:
  using function = std::function<verdict(const outcome&)>;

  /// The default table:
  /// | outcome | verdict |
  /// | --- | --- |
  /// | a value, the class `ok` | success |
  /// | the classes `retry`, `retry_after` | transient |
  /// | the class `shed` | refused |
  /// | the classes `fail`, `conflict` | failure (see `list_meaning`) |
  /// | `breaker_open`, `queue_full`, `wait_timeout`, `rate_limited` | refused |
  /// | `deadline_exceeded`, `worker_down`, `batch_failed`, `internal_error` |
  /// transient if the call may have been executed, else refused |
  /// | `shed`, `draining`, `cancelled`, `budget_exhausted`, `no_such_permit`,
  /// `invalid_config`, `callback_failed`, `call_loop`, `feature_off`,
  /// `throttled` | neutral |
  /// | CAF's `unexpected_message` (the worker has no handler) | failure |
  /// | any other error, `injected` among them | transient |
  [[nodiscard]] static verdict standard(const outcome& o) noexcept;

  /// Names of errors; empty: no such rule. A name is one of Caisson's
  /// (`deadline_exceeded`), `<category>:<code>` with the code as a number
  /// (`app:3`), or `<category>:*`. CAF's own category is `system_error`. If the
  /// worker has an adapter, also the name of a code in answers or of a class
  /// (see `parse_answer_name`).
  std::vector<std::string> allow = {};

  /// As `allow`, but takes precedence over it.
  std::vector<std::string> deny = {};

  /// If set, judges every outcome first. May throw; see `judge`.
  function by_value = {};

  /// The verdict on `o`. If `by_value` throws, the verdict is neutral, and the
  /// host is notified.
  [[nodiscard]] verdict judge(const outcome& o, const list_meaning& lists,
                              env& host) const {
    return is_plain_success(o) ? verdict::success : weigh(o, lists, host);
  }

  /// Whether `o` is a success that only `by_value` could judge otherwise, and
  /// there is no such function: most outcomes are.
  [[nodiscard]] bool is_plain_success(const outcome& o) const noexcept {
    return o.ok && !o.neutral && !by_value;
  }

  /// How many attempts a call is worth after `o` if the configuration says
  /// `most`: at most as often as its answer allows. That limit belongs to the
  /// class of the answer: where `allow` or `by_value` decides, there is none.
  [[nodiscard]] std::uint32_t attempts_for(const outcome& o,
                                           std::uint32_t most) const noexcept;

  /// Whether `o` is what `name`, of one of the forms above, names.
  [[nodiscard]] static bool is_named(std::string_view name, const outcome& o);

  /// Whether it is what one of `names` names.
  [[nodiscard]] static bool is_any(const std::vector<std::string>& names,
                                   const outcome& o);

  /// What is wrong with `names`, as one sentence; empty if nothing is.
  [[nodiscard]] static std::string
  problem_with(const std::vector<std::string>& names);

private:
  [[nodiscard]] verdict weigh(const outcome& o, const list_meaning& lists,
                              env& host) const;
};

} // namespace caisson
