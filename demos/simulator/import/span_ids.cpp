#include <simulator/import/span_ids.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/base/random.hpp>

#include <cstddef>

namespace caisson::sim {

namespace {

// -1 for what is no digit.
int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  if (c == '+' || c == '-')
    return 62;
  if (c == '/' || c == '_')
    return 63;
  return -1;
}

// Puts `bits` more behind a number of 128 bits.
void append_digits(trace_number& n, unsigned bits, std::uint64_t digit) {
  n.high = n.high << bits | n.low >> (64 - bits);
  n.low = n.low << bits | digit;
}

std::optional<trace_number> hex_in(std::string_view text) {
  if (text.empty() || text.size() > 32)
    return std::nullopt;
  trace_number out;
  for (auto c : text) {
    auto digit = hex_digit(c);
    if (digit < 0)
      return std::nullopt;
    append_digits(out, 4, static_cast<std::uint64_t>(digit));
  }
  return out;
}

std::optional<trace_number> base64_in(std::string_view text) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  // 8 and 16 bytes, and how many bits too many their last digits have.
  if (text.size() != 11 && text.size() != 22)
    return std::nullopt;
  const auto spare = text.size() == 11 ? 2u : 4u;
  trace_number out;
  for (auto c : text.substr(0, text.size() - 1)) {
    auto digit = base64_digit(c);
    if (digit < 0)
      return std::nullopt;
    append_digits(out, 6, static_cast<std::uint64_t>(digit));
  }
  auto last = base64_digit(text.back());
  if (last < 0)
    return std::nullopt;
  append_digits(out, 6 - spare, static_cast<std::uint64_t>(last) >> spare);
  return out;
}

} // namespace

std::optional<trace_number> id_in(std::string_view text) {
  if (text.empty())
    return std::nullopt;
  auto out = hex_in(text);
  if (!out)
    out = base64_in(text);
  if (!out) {
    auto hash = detail::fnv1a(text);
    out = trace_number{mix_seed(hash), mix_seed(~hash)};
  }
  return *out == trace_number{} ? std::nullopt : out;
}

std::uint64_t span_id_in(std::string_view text) {
  auto out = id_in(text);
  if (!out)
    return 0;
  if (out->high == 0)
    return out->low;
  // Longer than ids of spans are.
  auto mixed = out->low ^ mix_seed(out->high);
  return mixed == 0 ? 1 : mixed;
}

} // namespace caisson::sim
