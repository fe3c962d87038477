// Classes of a worker's answers, the same for all protocols.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// What an answer means to the policies. docs/answers.md says how each policy
/// acts on each class.
enum class answer_class : std::uint8_t {
  /// Nothing is known: the rules for values and errors apply.
  unknown,
  /// The call succeeded.
  ok,
  /// The server failed, and may succeed next time.
  retry,
  /// The server failed, may succeed next time, and may say when to retry.
  retry_after,
  /// The call conflicts with existing data, perhaps with an earlier attempt:
  /// check first, and repeat only what was not done.
  conflict,
  /// The request is at fault. The server works, and would answer the same
  /// again.
  fail,
  /// The server works, but refuses the call because of overload or a quota.
  shed,
};

/// The last class, for arrays and loops over all of them.
inline constexpr answer_class last_answer_class = answer_class::shed;

[[nodiscard]] std::string_view name_of(answer_class x) noexcept;

/// The class with that name, such as `retry_after`.
[[nodiscard]] std::optional<answer_class>
answer_class_named(std::string_view name) noexcept;

/// The protocol of a code.
enum class answer_protocol : std::uint8_t { none, http, grpc, sqlstate };

/// The code in an answer.
struct answer_code {
  /// `none`: there is no code, and `value` has no meaning.
  answer_protocol protocol = answer_protocol::none;
  /// An HTTP status; a gRPC code; an SQLSTATE as `packed_sqlstate` makes it.
  std::uint32_t value = 0;

  friend bool operator==(const answer_code&, const answer_code&) = default;
};

/// As in lists: `http:503`, `grpc:unavailable`, `sqlstate:40001`; empty if
/// there is none.
[[nodiscard]] std::string to_text(answer_code x);

/// The five characters 0 to 9 and A to Z as a number; they keep their order.
/// Nothing for any other text.
[[nodiscard]] std::optional<std::uint32_t>
packed_sqlstate(std::string_view five) noexcept;

/// For `answer_info::retry_after`: do not retry.
inline constexpr duration do_not_retry{-1};

/// What an adapter knows about an answer.
struct answer_info {
  /// What the answer means. `unknown`: as if the adapter had no opinion; what
  /// is below is ignored then.
  answer_class kind = answer_class::unknown;

  /// Whether the work may have been done, even in part. If not, the call is
  /// retried whether it is idempotent or not.
  bool may_have_executed = true;

  /// How many attempts a call with this answer is worth, including the first;
  /// 0: no limit of its own.
  std::uint32_t max_attempts = 0;

  /// Do not retry earlier; zero: unknown; negative: do not retry.
  duration retry_after = duration::zero();

  /// The code in the answer, for the lists of policies; `none` if it has none.
  answer_code code = {};

  /// Whether the server has not answered this call: whoever answered says only
  /// that, such as that there is no connection, that the server starts, or that
  /// a gateway got nothing from it.
  bool unanswered = false;

  /// Whether the time of the call was over. One with more time may succeed.
  bool out_of_time = false;
};

/// What a name on a list stands for: a class, or codes from `first` to `last`
/// of a protocol.
struct answer_pattern {
  /// The class; only if `protocol` is `none`.
  answer_class kind = answer_class::unknown;
  /// The codes' protocol; `none`: a class.
  answer_protocol protocol = answer_protocol::none;
  /// The lowest code, itself included.
  std::uint32_t first = 0;
  /// The highest code, itself included.
  std::uint32_t last = 0;

  /// Whether an answer of the class `k` with the code `c` is named.
  [[nodiscard]] bool matches(answer_class k, answer_code c) const noexcept {
    if (protocol == answer_protocol::none)
      return kind == k;
    return protocol == c.protocol && first <= c.value && c.value <= last;
  }
};

/// Whether a name begins with `http:`, `grpc:`, `sqlstate:` or `class:`.
[[nodiscard]] bool is_answer_name(std::string_view name) noexcept;

/// Reads `http:503`, `http:5xx`, `http:*`, `grpc:unavailable`, `grpc:14`,
/// `grpc:*`, `sqlstate:40001`, `sqlstate:40*` and `class:shed`. Successes have
/// no names, because lists are about failures. The class `unknown` has none
/// either.
[[nodiscard]] std::optional<answer_pattern>
parse_answer_name(std::string_view name) noexcept;

} // namespace caisson
