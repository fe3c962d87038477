#include <caisson/policy/answer_class.hpp>

#include <caisson/policy/grpc_codes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace caisson {

namespace {

constexpr std::string_view class_names[] = {
  "unknown", "ok", "retry", "retry_after", "conflict", "fail", "shed"};

constexpr std::string_view http_prefix = "http:";
constexpr std::string_view grpc_prefix = "grpc:";
constexpr std::string_view sqlstate_prefix = "sqlstate:";
constexpr std::string_view class_prefix = "class:";

// -1 if it is no character of an SQLSTATE.
int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'Z')
    return c - 'A' + 10;
  return -1;
}

std::optional<std::uint32_t> number_in(std::string_view text) noexcept {
  std::uint32_t x = 0;
  auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (ec != std::errc{} || rest != text.data() + text.size())
    return std::nullopt;
  return x;
}

bool same_name(std::string_view text, std::string_view lower_case) noexcept {
  return std::equal(text.begin(), text.end(), lower_case.begin(),
                    lower_case.end(), [](char a, char b) {
                      return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b);
                    });
}

std::optional<answer_pattern> codes(answer_protocol p, std::uint32_t first,
                                    std::uint32_t last) noexcept {
  return answer_pattern{answer_class::unknown, p, first, last};
}

std::optional<answer_pattern> http_codes(std::string_view text) noexcept {
  if (text == "*")
    return codes(answer_protocol::http, 0, ~std::uint32_t{0});
  if (text.size() != 3)
    return std::nullopt;
  if (text[0] >= '1' && text[0] <= '5' && text.substr(1) == "xx") {
    auto first = static_cast<std::uint32_t>(text[0] - '0') * 100;
    return codes(answer_protocol::http, first, first + 99);
  }
  auto status = number_in(text);
  if (!status || *status < 100 || *status > 599)
    return std::nullopt;
  return codes(answer_protocol::http, *status, *status);
}

std::optional<answer_pattern> grpc_codes(std::string_view text) noexcept {
  if (text == "*")
    return codes(answer_protocol::grpc, 1, ~std::uint32_t{0});
  for (std::uint32_t i = 1; i < std::size(detail::grpc_names); ++i)
    if (same_name(text, detail::grpc_names[i]))
      return codes(answer_protocol::grpc, i, i);
  auto code = number_in(text);
  if (!code || *code < 1 || *code >= std::size(detail::grpc_names))
    return std::nullopt;
  return codes(answer_protocol::grpc, *code, *code);
}

std::optional<answer_pattern> sqlstate_codes(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5)
    return std::nullopt;
  char low[] = "00000";
  char high[] = "ZZZZZ";
  auto code = text.back() == '*' ? text.substr(0, text.size() - 1) : text;
  if (code.size() == text.size() && text.size() != 5)
    return std::nullopt;
  std::copy(code.begin(), code.end(), low);
  std::copy(code.begin(), code.end(), high);
  auto first = packed_sqlstate({low, 5});
  auto last = packed_sqlstate({high, 5});
  if (!first || !last)
    return std::nullopt;
  return codes(answer_protocol::sqlstate, *first, *last);
}

std::optional<answer_pattern> class_called(std::string_view text) noexcept {
  auto kind = answer_class_named(text);
  if (!kind || *kind == answer_class::unknown || *kind == answer_class::ok)
    return std::nullopt;
  return answer_pattern{*kind, answer_protocol::none, 0, 0};
}

} // namespace

std::string_view name_of(answer_class x) noexcept {
  auto i = static_cast<std::size_t>(x);
  return class_names[i < std::size(class_names) ? i : 0];
}

std::optional<answer_class> answer_class_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(class_names); ++i)
    if (class_names[i] == name)
      return static_cast<answer_class>(i);
  return std::nullopt;
}

std::optional<std::uint32_t> packed_sqlstate(std::string_view five) noexcept {
  if (five.size() != 5)
    return std::nullopt;
  std::uint32_t packed = 0;
  for (auto c : five) {
    auto digit = digit_of(c);
    if (digit < 0)
      return std::nullopt;
    packed = packed * 36 + static_cast<std::uint32_t>(digit);
  }
  return packed;
}

std::string to_text(answer_code x) {
  switch (x.protocol) {
    case answer_protocol::none:
      break;
    case answer_protocol::http:
      return fmt::format("{}{}", http_prefix, x.value);
    case answer_protocol::grpc:
      if (x.value < std::size(detail::grpc_names))
        return fmt::format("{}{}", grpc_prefix, detail::grpc_names[x.value]);
      return fmt::format("{}{}", grpc_prefix, x.value);
    case answer_protocol::sqlstate: {
      std::string five(5, '0');
      auto rest = x.value;
      for (auto i = five.rbegin(); i != five.rend(); ++i, rest /= 36)
        *i = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 36];
      return fmt::format("{}{}", sqlstate_prefix, five);
    }
  }
  return {};
}

// -- names on lists -----------------------------------------------------------

bool is_answer_name(std::string_view name) noexcept {
  return name.starts_with(http_prefix) || name.starts_with(grpc_prefix)
         || name.starts_with(sqlstate_prefix) || name.starts_with(class_prefix);
}

std::optional<answer_pattern>
parse_answer_name(std::string_view name) noexcept {
  if (name.starts_with(http_prefix))
    return http_codes(name.substr(http_prefix.size()));
  if (name.starts_with(grpc_prefix))
    return grpc_codes(name.substr(grpc_prefix.size()));
  if (name.starts_with(sqlstate_prefix))
    return sqlstate_codes(name.substr(sqlstate_prefix.size()));
  if (name.starts_with(class_prefix))
    return class_called(name.substr(class_prefix.size()));
  return std::nullopt;
}

} // namespace caisson
