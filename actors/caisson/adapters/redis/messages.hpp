// Commands and replies of Redis as messages.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/transport_errc.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// A command and its arguments, which may hold any bytes.
struct redis_command {
  /// The command's name and its arguments in order; a worker refuses a command
  /// without a name.
  std::vector<std::string> args = {};
};
CAISSON_MESSAGE(redis_command, args)

/// What a reply is.
enum class redis_kind : std::uint8_t {
  nil,
  /// Such as `OK`.
  status,
  error,
  integer,
  /// Any bytes.
  text,
  array,
};

[[nodiscard]] std::string_view name_of(redis_kind x) noexcept;

CAISSON_ENUM(redis_kind, redis_kind::array)

/// A reply.
struct redis_reply {
  /// Says which of the members below has the value; a nil has none.
  redis_kind kind = redis_kind::nil;
  /// The text of a status, of an error or of a text.
  std::string text = {};
  /// The value of an integer.
  std::int64_t integer = 0;
  /// The elements of an array.
  std::vector<redis_reply> items = {};
};
CAISSON_MESSAGE(redis_reply, kind, text, integer, items)

/// Whether carrying out a command twice leaves the same as once, and answers
/// the same unless others have changed it meanwhile: commands that only read,
/// and those that set something to a value, such as SET without a condition, or
/// LTRIM that keeps an end of a list. A time to live starts anew. Not among
/// them: what is not known here, and what answers how much it has changed (DEL,
/// SADD).
[[nodiscard]] bool is_idempotent(const redis_command& x) noexcept;

/// The command as a call: marked as idempotent if it is, and otherwise as not.
[[nodiscard]] call as_call(redis_command x);

/// Whether a command concerns the connection, which calls share, such as MULTI,
/// SUBSCRIBE, SELECT and CLIENT. A worker refuses it. A transaction can be a
/// script (EVAL).
[[nodiscard]] bool is_of_connection(const redis_command& x) noexcept;

/// One row of the table of errors.
struct redis_error_row {
  /// The first word of the error.
  std::string_view word;
  /// What it means to the policies.
  answer_info info;
  /// Why, in a few words.
  std::string_view why;
};

/// What errors mean, by their first word. The last row has all others. Source:
/// Redis 7.0, `shared` in server.c, and the documentation of its commands.
[[nodiscard]] std::span<const redis_error_row> redis_error_rows() noexcept;

/// What an error means, such as `LOADING Redis is loading the dataset in
/// memory`.
[[nodiscard]] answer_info redis_error_answer(std::string_view text) noexcept;

/// What replies mean to the policies: an error by its first word, all others
/// are successes.
[[nodiscard]] answer_adapter redis_adapter();

} // namespace caisson

CAF_BEGIN_TYPE_ID_BLOCK(caisson_redis, caisson::first_adapter_type_id + 40)
CAF_ADD_TYPE_ID(caisson_redis, (caisson::redis_command))
CAF_ADD_TYPE_ID(caisson_redis, (caisson::redis_reply))
CAF_END_TYPE_ID_BLOCK(caisson_redis)

namespace caisson {

/// On CAF 1.x, to be called before any actor system exists.
void init_redis_types();

/// Prepares a config for these messages: for other nodes, and for the names of
/// errors in logs. On CAF 1.x nothing is left to be done here.
void register_redis_types(caf::actor_system_config& cfg);

} // namespace caisson
