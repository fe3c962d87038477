// Tracestate and baggage, which travel with a call beside its traceparent.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// The longest `tracestate` that is passed on, in characters.
inline constexpr std::size_t max_tracestate_length = 512;

/// How many members a `tracestate` may have.
inline constexpr std::size_t max_tracestate_members = 32;

/// The longest `baggage` that is passed on, in bytes.
inline constexpr std::size_t max_baggage_length = 8192;

/// How many members of a `baggage` are passed on.
inline constexpr std::size_t max_baggage_members = 64;

/// A `tracestate` as it may be passed on: members separated by commas, without
/// blanks and empty members. It is empty if the text is not valid: if a member
/// is none, if two have the same key, or if there are more than
/// `max_tracestate_members` (https://www.w3.org/TR/trace-context/). If it is
/// too long, the members that have more than 128 characters are left out, the
/// last one first, and then the last ones, until it fits.
[[nodiscard]] std::string valid_tracestate(std::string_view text);

/// A `baggage` as it may be passed on: members separated by commas, without
/// blanks. Members that are none are left out, and those after
/// `max_baggage_members` or with which it would be longer than
/// `max_baggage_length` (https://www.w3.org/TR/baggage/). What is left is
/// passed on with its properties, and values are not decoded.
[[nodiscard]] std::string valid_baggage(std::string_view text);

/// The fields of W3C Trace Context and W3C Baggage that a call carries along,
/// as they may stand in headers: an object never has one that is not valid.
/// Copies share the texts, which never change. Without any it takes two
/// pointers, and one byte on the network.
class propagated_fields {
public:
  propagated_fields() = default;

  /// What tracing systems know of the trace that the call belongs to; empty:
  /// nothing. It means nothing without a `traceparent`.
  [[nodiscard]] const std::string& tracestate() const noexcept;

  /// What the program and its callers say of the call, for those that it goes
  /// to; empty: nothing.
  [[nodiscard]] const std::string& baggage() const noexcept;

  [[nodiscard]] bool empty() const noexcept { return !texts_; }

  /// Sets it to what `valid_tracestate` makes of the text.
  void set_tracestate(std::string_view text);

  /// Sets it to what `valid_baggage` makes of the text.
  void set_baggage(std::string_view text);

  /// Nothing, or both texts in the order of the functions above: how it
  /// crosses the network.
  [[nodiscard]] std::vector<std::string> to_list() const;

  /// What `to_list` has returned, or anything else: what is not valid is left
  /// out, as by the setters.
  [[nodiscard]] static propagated_fields
  from_list(const std::vector<std::string>& texts);

  friend bool operator==(const propagated_fields& a,
                         const propagated_fields& b) noexcept {
    return a.tracestate() == b.tracestate() && a.baggage() == b.baggage();
  }

private:
  struct texts {
    std::string tracestate;
    std::string baggage;
  };

  void set(texts x);

  std::shared_ptr<const texts> texts_;
};

} // namespace caisson
