// Maps the codes of HTTP, gRPC and SQL to classes of answers.
#pragma once

#include <caisson/policy/answer_class.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace caisson {

/// One row of a table: what the codes from `first` to `last` mean. The first
/// row that contains a code applies to it; the last row contains all of them.
struct answer_row {
  /// As people write them, such as `5xx`.
  std::string_view codes;
  /// The lowest code of the row, itself included.
  std::uint32_t first;
  /// The highest code of the row, itself included.
  std::uint32_t last;
  /// What each of them means.
  answer_info info;
  /// The reason, in a few words.
  std::string_view why;
};

/// HTTP status codes. Sources: RFC 9110 section 15, RFC 6585 (429), RFC 8470
/// (425).
[[nodiscard]] std::span<const answer_row> http_rows() noexcept;

/// gRPC codes. Sources: gRPC's "Status codes and their use", and proposal A6.
[[nodiscard]] std::span<const answer_row> grpc_rows() noexcept;

/// SQLSTATE codes. Sources: ISO/IEC 9075-2 (classes), PostgreSQL's appendix
/// "Error Codes" (40P01, 53, 55P03, 57, 58, XX), ODBC (08S01, HYT00, HYT01).
[[nodiscard]] std::span<const answer_row> sqlstate_rows() noexcept;

/// What an HTTP status means. One outside 100 to 599 means the same as 500.
[[nodiscard]] answer_info http_answer(int status) noexcept;

/// What a gRPC code means. One outside 0 to 16 means the same as UNKNOWN.
[[nodiscard]] answer_info grpc_answer(int code) noexcept;

/// What an SQLSTATE means. Nothing (class `unknown`) if it is not five
/// characters of 0 to 9 and A to Z.
[[nodiscard]] answer_info sqlstate_answer(std::string_view five) noexcept;

} // namespace caisson
