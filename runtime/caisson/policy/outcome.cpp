#include <caisson/policy/callback.hpp>
#include <caisson/policy/outcome.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace caisson {

namespace {

constexpr auto system_category = category_hash("system_error");

// caf::sec::unexpected_message has this code in every CAF that is supported.
constexpr std::uint8_t unexpected_message = 1;

// Reads the part of a name behind the colon; -1 stands for `*`.
bool parse_code(std::string_view text, int& code) {
  if (text == "*") {
    code = -1;
    return true;
  }
  auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(),
                                    code);
  return ec == std::errc{} && rest == text.data() + text.size() && code >= 1
         && code <= 255;
}

verdict standard_own(const outcome& o) noexcept {
  switch (static_cast<errc>(o.code)) {
    case errc::breaker_open:
    case errc::queue_full:
    case errc::wait_timeout:
    case errc::rate_limited:
      return verdict::refused;
    case errc::deadline_exceeded:
    case errc::worker_down:
    case errc::batch_failed:
    case errc::internal_error:
      return o.may_have_executed ? verdict::transient : verdict::refused;
    case errc::cancelled:
    case errc::budget_exhausted:
    case errc::shed:
    case errc::no_such_permit:
    case errc::invalid_config:
    case errc::draining:
    case errc::callback_failed:
    case errc::call_loop:
    case errc::feature_off:
    case errc::throttled:
      return verdict::neutral;
    case errc::injected:
      // Just as if the worker had failed.
      break;
  }
  return verdict::transient;
}

verdict of_class(answer_class x) noexcept {
  switch (x) {
    case answer_class::unknown:
    case answer_class::ok:
      return verdict::success;
    case answer_class::retry:
    case answer_class::retry_after:
      return verdict::transient;
    case answer_class::conflict:
    case answer_class::fail:
      return verdict::failure;
    case answer_class::shed:
      return verdict::refused;
  }
  return verdict::transient;
}

// What is wrong with a name of an answer.
std::string bad_answer_name(std::string_view name) {
  std::string_view allowed = "\"class:\" with retry, retry_after, conflict, "
                             "fail or shed";
  if (name.starts_with("http:"))
    allowed = "\"http:<100 to 599>\", \"http:4xx\" or \"http:*\"";
  else if (name.starts_with("grpc:"))
    allowed = "\"grpc:unavailable\", another code's name or number (1 to 16) "
              "or \"grpc:*\"";
  else if (name.starts_with("sqlstate:"))
    allowed = "\"sqlstate:40001\", \"sqlstate:40*\" or \"sqlstate:*\"";
  return fmt::format("\"{}\" names no answer, allowed: {}", name, allowed);
}

} // namespace

outcome outcome::failure(errc code, bool may_have_executed,
                         duration retry_after) noexcept {
  outcome o;
  o.ok = false;
  o.own_error = true;
  o.may_have_executed = may_have_executed;
  o.code = static_cast<std::uint8_t>(code);
  o.category = caisson_category;
  o.retry_after = retry_after;
  return o;
}

outcome outcome::without_verdict() noexcept {
  auto o = failure(errc::cancelled, true);
  o.neutral = true;
  return o;
}

verdict classifier::standard(const outcome& o) noexcept {
  if (o.ok)
    return verdict::success;
  if (o.kind != answer_class::unknown)
    return of_class(o.kind);
  if (o.own_error)
    return standard_own(o);
  if (o.category == system_category && o.code == unexpected_message)
    return verdict::failure;
  return verdict::transient;
}

verdict classifier::weigh(const outcome& o, const list_meaning& lists,
                          env& host) const {
  if (o.neutral)
    return verdict::neutral;
  if (by_value)
    return call_user(
             "by_value", [&] { return by_value(o); }, host)
      .value_or(verdict::neutral);
  if (o.ok)
    return verdict::success;
  if (is_any(deny, o))
    return lists.denied;
  if (!allow.empty())
    return is_any(allow, o) ? lists.allowed : lists.other;
  if (o.blames_request())
    return lists.at_fault;
  return standard(o);
}

std::uint32_t classifier::attempts_for(const outcome& o,
                                       std::uint32_t most) const noexcept {
  if (by_value || !allow.empty() || o.max_attempts == 0)
    return most;
  return std::min(most, o.max_attempts);
}

bool classifier::is_any(const std::vector<std::string>& names,
                        const outcome& o) {
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& name) { return is_named(name, o); });
}

bool classifier::is_named(std::string_view name, const outcome& o) {
  if (is_answer_name(name)) {
    auto pattern = parse_answer_name(name);
    return pattern && pattern->matches(o.kind, o.answer);
  }
  auto colon = name.rfind(':');
  if (colon == std::string_view::npos) {
    auto own = errc_named(name);
    return own && o.is(*own);
  }
  int code = 0;
  return parse_code(name.substr(colon + 1), code)
         && category_hash(name.substr(0, colon)) == o.category
         && (code == -1 || code == o.code);
}

std::string classifier::problem_with(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    if (is_answer_name(name)) {
      if (!parse_answer_name(name))
        return bad_answer_name(name);
      continue;
    }
    auto colon = name.rfind(':');
    int code = 0;
    if (colon == std::string::npos
          ? !errc_named(name)
          : colon == 0 || !parse_code(name.substr(colon + 1), code))
      return fmt::format("\"{}\" names no error, allowed: a caisson error such "
                         "as \"deadline_exceeded\", \"<category>:<1 to 255>\" "
                         "or \"<category>:*\"",
                         name);
  }
  return {};
}

} // namespace caisson
