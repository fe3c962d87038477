#include <caisson/policy/trace_context.hpp>

#include <fmt/format.h>

#include <cstddef>

namespace caisson {

namespace {

// "00-" trace "-" span "-" flags.
constexpr std::size_t traceparent_length = 55;

// Reads so many lower-case digits; nothing if there is anything else.
std::optional<std::uint64_t> hex_digits(std::string_view text) noexcept {
  std::uint64_t out = 0;
  for (auto c : text) {
    auto digit = c >= '0' && c <= '9'   ? c - '0'
                 : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                        : -1;
    if (digit < 0)
      return std::nullopt;
    out = out << 4 | static_cast<std::uint64_t>(digit);
  }
  return out;
}

} // namespace

std::optional<trace_context>
trace_context::parse(std::string_view text) noexcept {
  if (text.size() < traceparent_length || text[2] != '-' || text[35] != '-'
      || text[52] != '-')
    return std::nullopt;
  auto version = hex_digits(text.substr(0, 2));
  auto high = hex_digits(text.substr(3, 16));
  auto low = hex_digits(text.substr(19, 16));
  auto span = hex_digits(text.substr(36, 16));
  auto flags = hex_digits(text.substr(53, 2));
  if (!version || !high || !low || !span || !flags)
    return std::nullopt;
  // Later versions may have more fields.
  auto fits = text.size() == traceparent_length
              || (*version > 0 && text[traceparent_length] == '-');
  if (*version == 0xff || !fits || (*high | *low) == 0 || *span == 0)
    return std::nullopt;
  return trace_context{*high, *low, *span, (*flags & 1) != 0};
}

std::string trace_context::traceparent() const {
  return fmt::format("00-{:016x}{:016x}-{:016x}-{:02x}", trace_high, trace_low,
                     span, sampled ? 1 : 0);
}

std::string trace_context::trace_id() const {
  return fmt::format("{:016x}{:016x}", trace_high, trace_low);
}

std::string span_text(std::uint64_t span) {
  return fmt::format("{:016x}", span);
}

} // namespace caisson
