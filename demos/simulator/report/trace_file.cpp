#include <simulator/report/trace_file.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/report/trace_arm.hpp>
#include <simulator/report/trace_events.hpp>
#include <simulator/report/traced_arms.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

constexpr duration before_fault = 200ms;
constexpr duration usual_time = 1s;

duration usual_start(const std::vector<arm_config>& arms) {
  std::optional<duration> fault;
  duration warmup = duration::zero();
  for (const auto& arm : arms) {
    warmup = std::max(warmup, arm.warmup);
    for (const auto& f : arm.faults)
      fault = std::min(fault.value_or(f.at), f.at);
  }
  return fault ? std::max(duration::zero(), *fault - before_fault) : warmup;
}

[[noreturn]] void refuse(std::string_view option, std::string message) {
  throw config_error{
    {{problem_kind::range, setting_path{} / option, std::move(message), {}}}};
}

} // namespace

trace_settings trace_time(const std::vector<arm_config>& arms,
                          std::optional<duration> from,
                          std::optional<duration> to, std::size_t most) {
  duration length = duration::zero();
  for (const auto& arm : arms)
    length = std::max(length, arm.length);
  trace_settings out;
  out.from = from.value_or(usual_start(arms));
  if (!from && to && out.from >= *to)
    out.from = std::max(duration::zero(), *to - usual_time);
  out.to = to.value_or(duration_sum(out.from, usual_time));
  if (out.from >= length)
    refuse("--trace-from",
           fmt::format("{} is not before {}, the end of the load",
                       to_text(out.from), to_text(length)));
  if (out.to <= out.from)
    refuse("--trace-to",
           fmt::format("{} is not after {}, where the trace begins",
                       to_text(out.to), to_text(out.from)));
  out.most = most / std::max<std::size_t>(1, arms.size());
  return out;
}

void write_trace(std::ostream& out, const report& r, std::string_view version) {
  trace_events events;
  out << R"({"displayTimeUnit":"ms","otherData":{"caisson":)"
      << json_text(version) << R"(,"file":)" << json_text(r.file)
      << R"(,"title":)" << json_text(r.title)
      << fmt::format(R"(,"seed":{},"interrupted":{},"arms":[)", r.seed,
                     r.interrupted);
  auto separator = "";
  each_traced(r, [&](const arm_config& arm, const arm_result& result,
                     const trace_details& trace) {
    auto prefix = r.arms.size() > 1 ? "arm " + arm.name + " · " : std::string{};
    add_arm_trace(events, arm, result, prefix);
    out << separator << R"({"name":)" << json_text(arm.name)
        << fmt::format(R"(,"from":{},"to":{},"requests":{},"left_out":{}}})",
                       exact_seconds(trace.settings.from),
                       exact_seconds(trace.settings.to), trace.requests.size(),
                       trace.left_out);
    separator = ",";
  });
  out << "]},\"traceEvents\":";
  events.write(out);
  out << "}\n";
}

std::vector<std::string> trace_warnings(const report& r) {
  std::vector<std::string> out;
  each_traced(r, [&](const arm_config& arm, const arm_result&,
                     const trace_details& trace) {
    if (trace.left_out > 0)
      out.push_back(fmt::format(
        "arm {}: the trace has {} of {} requests, as it would be too large; "
        "choose less time with --trace-from and --trace-to",
        detail::printable(arm.name), grouped(trace.requests.size()),
        grouped(trace.requests.size() + trace.left_out)));
  });
  return out;
}

} // namespace caisson::sim
