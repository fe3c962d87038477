#include <caisson/engine/answers.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace caisson {

answer_info info_of(const http_result& x, const wall_clock& clock) {
  auto info = http_answer(x.status);
  if (x.retry_after.empty() || info.kind == answer_class::ok)
    return info;
  auto here = clock();
  auto there = x.date.empty() ? std::nullopt : parse_http_date(x.date, here);
  info.retry_after = parse_retry_after(x.retry_after, there.value_or(here));
  return info;
}

answer_info info_of(const grpc_result& x) {
  auto info = grpc_answer(x.code);
  if (x.pushback && info.kind != answer_class::ok)
    info.retry_after = parse_grpc_pushback(*x.pushback);
  return info;
}

answer_adapter
classify_errors(std::vector<std::pair<std::string, answer_info>> table) {
  for (const auto& [name, info] : table)
    if (name.find(':') == std::string::npos || is_answer_name(name)
        || !classifier::problem_with({name}).empty())
      throw std::invalid_argument{
        fmt::format("\"{}\" names no error of another category, allowed: "
                    "\"<category>:<1 to 255>\" or \"<category>:*\"",
                    name)};
  return [table = std::move(table)](
           const caf::message& content) -> std::optional<answer_info> {
    auto o = outcome_of(content);
    if (!o.ok)
      for (const auto& [name, info] : table)
        if (classifier::is_named(name, o))
          return info;
    return std::nullopt;
  };
}

answer_adapter first_adapter_of(answer_adapter first, answer_adapter second) {
  if (!first || !second)
    return first ? std::move(first) : std::move(second);
  return [first = std::move(first), second = std::move(second)](
           const caf::message& content) -> std::optional<answer_info> {
    auto info = first(content);
    if (info && info->kind != answer_class::unknown)
      return info;
    return second(content);
  };
}

} // namespace caisson
