// Requests and responses of gRPC as messages.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/transport_errc.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// Metadata by name. A name can occur several times. Values of names that end
/// with `-bin` are any bytes, which gRPC encodes itself.
using grpc_metadata = std::vector<std::pair<std::string, std::string>>;

/// A unary call.
struct grpc_request {
  /// The full name, `/package.Service/Method`.
  std::string method = {};
  /// The message, as protobuf or whatever the service speaks serializes it.
  std::string bytes = {};
  /// Names in lower case, of letters, digits, `-`, `_` and `.`, and none of
  /// those that begin with `grpc-`. Values are printable ASCII, or any bytes if
  /// the name ends with `-bin`.
  grpc_metadata metadata = {};
};
CAISSON_MESSAGE(grpc_request, method, bytes, metadata)

/// How a unary call has ended: with a message if `code` is 0.
struct grpc_response {
  /// The status: 0 is OK, 14 is UNAVAILABLE. docs/answers.md lists them.
  std::int32_t code = 0;
  /// What the status says, for people.
  std::string message = {};
  /// The details of the status, `grpc-status-details-bin`: a serialized
  /// `google.rpc.Status`.
  std::string details = {};
  /// The metadata before the message.
  grpc_metadata headers = {};
  /// The metadata after the message.
  grpc_metadata trailers = {};
  /// The message.
  std::string bytes = {};
};
CAISSON_MESSAGE(grpc_response, code, message, details, headers, trailers, bytes)

/// Whether the status is OK, so that there is a message.
[[nodiscard]] inline bool is_ok(const grpc_response& x) noexcept {
  return x.code == 0;
}

/// The status as people write it, such as `UNAVAILABLE: no server`; a code that
/// gRPC does not know is written as its number.
[[nodiscard]] std::string to_text(const grpc_response& x);

/// The first value of that name; nothing if there is none. The pointer is valid
/// as long as `all`.
[[nodiscard]] const std::string* metadata_of(const grpc_metadata& all,
                                             std::string_view name) noexcept;

/// The trailer in which a server says when a client may retry (gRPC's proposal
/// A6): a number of milliseconds, or a negative one for "not at all".
inline constexpr std::string_view grpc_pushback_trailer
  = "grpc-retry-pushback-ms";

/// What is wrong with a request that cannot be sent, for people; empty if
/// nothing is.
[[nodiscard]] std::string problem_with(const grpc_request& x);

namespace detail {

/// Which names metadata may have, for people.
inline constexpr std::string_view metadata_name_rule
  = "those have lower-case letters, digits, -, _ and ., do not begin with "
    "grpc-, and are none that gRPC or HTTP/2 uses itself";

} // namespace detail

/// Whether gRPC sends such metadata, and leaves it to applications.
[[nodiscard]] bool is_metadata(std::string_view name, std::string_view value);

/// What responses mean to the policies: by code and pushback (docs/answers.md).
[[nodiscard]] answer_adapter grpc_adapter();

/// A call of a method with a message of protobuf, or any type that has its
/// `SerializeToString`:
///
///     self->request(gate, 5s,
///                   grpc_call<PriceRequest>("/shop.Prices/Get", request)
///                     .within(2s)
///                     .idempotent());
///
/// Throws `std::invalid_argument` if a required field of the message is not
/// set.
template <class Request>
[[nodiscard]] call grpc_call(std::string method, const Request& message,
                             grpc_metadata metadata = {}) {
  grpc_request x{std::move(method), {}, std::move(metadata)};
  if (!message.SerializeToString(&x.bytes))
    throw std::invalid_argument{"the message for " + x.method
                                + " lacks a required field"};
  return wrap(std::move(x));
}

/// The message of a response, of protobuf, or any type that has its
/// `ParseFromString`. Nothing if the status is not OK, or if the bytes are no
/// such message.
template <class Response>
[[nodiscard]] std::optional<Response> parse(const grpc_response& x) {
  std::optional<Response> out;
  if (is_ok(x) && !out.emplace().ParseFromString(x.bytes))
    out.reset();
  return out;
}

} // namespace caisson

CAF_BEGIN_TYPE_ID_BLOCK(caisson_grpc, caisson::first_adapter_type_id + 80)
CAF_ADD_TYPE_ID(caisson_grpc, (caisson::grpc_request))
CAF_ADD_TYPE_ID(caisson_grpc, (caisson::grpc_response))
CAF_END_TYPE_ID_BLOCK(caisson_grpc)

namespace caisson {

/// On CAF 1.x, to be called before any actor system exists.
void init_grpc_types();

/// Prepares a config for these messages: for other nodes, and for the names of
/// errors in logs. On CAF 1.x nothing is left to be done here.
void register_grpc_types(caf::actor_system_config& cfg);

} // namespace caisson
