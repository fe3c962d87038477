// Errors of adapters that have no answer of a server.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/answers.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// Errors of workers that speak to a server for you (see docs/adapters.md).
/// What the server itself says, also that it failed, is no such error but a
/// value.
enum class transport_errc : std::uint8_t {
  /// There is no connection, so that nothing was sent.
  not_connected = 1,
  /// The connection broke. The server may have done the work.
  lost,
  /// The time was over before the answer came, or before all was sent.
  timed_out,
  /// What came is no answer by the protocol.
  garbled,
  /// The answer is larger than the worker takes.
  too_large,
  /// The worker has neither a free thread nor room to wait, or the time was
  /// over while the message waited. Nothing was sent.
  busy,
  /// The worker is ending. Nothing was sent.
  stopped,
  /// The message cannot be put into the protocol. Nothing was sent.
  bad_request,
};

/// The number of the last enumerator.
inline constexpr std::uint8_t last_transport_errc = 8;

/// The enumerator's name, such as `timed_out`; `unknown` for other values.
[[nodiscard]] std::string_view name_of(transport_errc x) noexcept;

/// Inverse of `name_of`.
[[nodiscard]] std::optional<transport_errc>
transport_errc_named(std::string_view name) noexcept;

/// Found by CAF through argument-dependent lookup.
std::string to_string(transport_errc x);

#if !CAISSON_CAF_LEGACY

bool from_string(std::string_view text, transport_errc& x);
bool from_integer(std::uint8_t value, transport_errc& x);

template <class Inspector>
bool inspect(Inspector& f, transport_errc& x) {
  return caf::default_enum_inspect(f, x);
}

#endif

/// The first type ID of the messages that come with adapters; those from here
/// on to 200 further are theirs. Blocks of your own that begin at
/// `first_free_type_id` have room for 2000 types.
inline constexpr auto first_adapter_type_id = static_cast<caf::type_id_t>(
  first_free_type_id + 2000);

} // namespace caisson

CAF_BEGIN_TYPE_ID_BLOCK(caisson_transport, caisson::first_adapter_type_id)
#if !CAISSON_CAF_LEGACY
CAF_ADD_TYPE_ID(caisson_transport, (caisson::transport_errc))
#endif
CAF_END_TYPE_ID_BLOCK(caisson_transport)

#if !CAISSON_CAF_LEGACY
CAF_ERROR_CODE_ENUM(caisson::transport_errc)
#endif

namespace caisson {

/// Such an error, with what the system or the client library says about it. On
/// 0.17 CAF finds it through argument-dependent lookup, too, which makes `err
/// == transport_errc::x` work. The category is called `transport`.
caf::error make_error(transport_errc code, std::string text = {});

/// Which error of this kind it is; nothing if it is none.
[[nodiscard]] std::optional<transport_errc>
transport_errc_of(const caf::error& x);

/// The text of such an error; empty for others.
[[nodiscard]] std::string transport_text_of(const caf::error& x);

/// What such an error means to the policies. Errors of other kinds and values:
/// nothing. See docs/adapters.md for the table.
[[nodiscard]] std::optional<answer_info>
transport_answer(const caf::message& x);

/// Whether the call that a gate has answered with `err` may have been executed,
/// in any attempt: false only if the gate is certain that it was not. Of an
/// answer of another actor than a gate nobody knows it.
[[nodiscard]] bool may_have_executed(const caf::error& err);

namespace detail {

/// What a gate has noted on such an error, which by itself speaks of one
/// attempt; null if there is nothing.
[[nodiscard]] const rejection* gate_note_of(const caf::error& err);

} // namespace detail

/// For workers of your own on a pool of threads (blocking_pool.hpp); adapters
/// do it themselves. On CAF 1.x, call it before there is an actor system; does
/// nothing on 0.17.
void init_transport_types();

/// Lets a system that will be built from `cfg` print these errors on CAF 0.17.
void register_transport_types(caf::actor_system_config& cfg);

} // namespace caisson
