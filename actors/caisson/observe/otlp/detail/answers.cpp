#include <caisson/observe/otlp/detail/answers.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace caisson::detail {

namespace {

using nlohmann::json;

// A collector's answers are short; longer ones say nothing to us.
constexpr std::size_t longest_answer = std::size_t{64} << 10;
constexpr std::size_t longest_shown = 256;

json content_of(const http_response& x) {
  if (x.body.size() > longest_answer)
    return {};
  return json::parse(x.body, nullptr, false);
}

const json* member(const json& x, const char* key) {
  if (!x.is_object())
    return nullptr;
  auto i = x.find(key);
  return i == x.end() ? nullptr : &*i;
}

// 64-bit integers are texts in OTLP; some write numbers.
std::uint64_t count_in(const json* x) {
  if (!x)
    return 0;
  if (x->is_number_unsigned())
    return x->get<std::uint64_t>();
  std::uint64_t out = 0;
  if (x->is_string()) {
    const auto& text = x->get_ref<const std::string&>();
    auto end = text.data() + text.size();
    if (std::from_chars(text.data(), end, out).ptr != end)
      return 0;
  }
  return out;
}

// What is secret goes first: cut or escaped, it would not be found any more.
std::string text_in(const json* x, const http_headers& secret) {
  if (!x || !x->is_string())
    return {};
  auto text = without_values(x->get_ref<const std::string&>(), secret);
  return printable(shortened(std::move(text), longest_shown));
}

} // namespace

partial_success partial_success_of(const http_response& x,
                                   const http_headers& secret) {
  auto content = content_of(x);
  const auto* partial = member(content, "partialSuccess");
  if (!partial || !partial->is_object())
    return {};
  return {count_in(member(*partial, "rejectedSpans")),
          count_in(member(*partial, "rejectedDataPoints")),
          text_in(member(*partial, "errorMessage"), secret)};
}

std::string failure_text(const http_response& x, const http_headers& secret) {
  auto content = content_of(x);
  auto text = text_in(member(content, "message"), secret);
  return fmt::format("the collector answered {}{}{}", x.status,
                     text.empty() ? "" : ": ", text);
}

bool is_taken(const http_response& x) noexcept {
  return x.status >= 200 && x.status < 300;
}

answer_info otlp_meaning(const http_response& x) {
  constexpr std::array retryable{429, 502, 503, 504};
  auto out = info_of(
    http_result{x.status, std::string{header_of(x.headers, "retry-after")},
                std::string{header_of(x.headers, "date")}});
  auto again = std::find(retryable.begin(), retryable.end(), x.status)
               != retryable.end();
  if (!is_taken(x) && !again) {
    out.kind = answer_class::fail;
    out.retry_after = duration::zero();
  }
  return out;
}

std::string without_values(std::string text, const http_headers& headers) {
  // Shorter ones are no secrets, and would be found in other words.
  constexpr std::size_t shortest = 4;
  auto hide = [&](std::string_view what) {
    if (what.size() < shortest)
      return;
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at))
      text.replace(at, what.size(), "***");
  };
  for (const auto& [name, value] : headers) {
    hide(value);
    std::string_view left = value;
    while (!left.empty()) {
      auto end = std::min(left.find(' '), left.size());
      hide(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }
  return text;
}

} // namespace caisson::detail
