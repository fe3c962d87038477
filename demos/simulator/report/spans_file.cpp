#include <simulator/report/spans_file.hpp>

#include <simulator/report/trace_events.hpp>
#include <simulator/report/traced_arms.hpp>
#include <simulator/scenario/random.hpp>
#include <simulator/world/run_details.hpp>
#include <simulator/world/world_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace caisson::sim {

namespace {

// Virtual time 0 in files: times of 1970 stand for none.
constexpr std::chrono::nanoseconds span_epoch = std::chrono::
                                                  sys_days{std::chrono::year{
                                                             2020}
                                                           / 1 / 1}
                                                    .time_since_epoch();

// As OTLP numbers them.
enum class role : int { server = 2, client = 3 };

// A call, or if `work` is there what a service did for it.
struct span_place {
  const sample_request* request;
  std::size_t call;
  std::optional<std::size_t> work;
};

std::string attribute(std::string_view key, std::string_view value) {
  return fmt::format(R"({{"key":{},"value":{{"stringValue":{}}}}})",
                     json_text(key), json_text(value));
}

std::string attribute(std::string_view key, std::uint64_t value) {
  return fmt::format(R"({{"key":{},"value":{{"intValue":"{}"}}}})",
                     json_text(key), value);
}

class arm_spans {
public:
  arm_spans(const arm_config& arm, const arm_result& r,
            const trace_details& trace)
    : arm_(arm), trace_(trace), plan_(arm),
      key_(draw_key{r.seed}.with("spans").with(arm.name)),
      by_load_(arm.loads.size()), by_service_(arm.services.size()) {
    for (const auto& request : trace_.requests)
      for (std::size_t i = 0; i < request.calls.size(); ++i)
        sort_out(request, i);
  }

  void write(std::ostream& out, std::string_view version,
             const char*& separator) {
    for (std::size_t i = 0; i < by_load_.size(); ++i)
      resource(out, version, arm_.loads[i].name, by_load_[i], separator);
    for (std::size_t i = 0; i < by_service_.size(); ++i)
      resource(out, version, arm_.services[i].name, by_service_[i], separator);
  }

private:
  using places = std::vector<span_place>;

  // A call is a span of its caller's, what is done for it one of the callee's.
  void sort_out(const sample_request& r, std::size_t i) {
    const auto& c = r.calls[i];
    auto& callers = c.parent == sample_call::none
                      ? by_load_[r.load]
                      : by_service_[service_of(r.calls[c.parent])];
    callers.push_back({&r, i, std::nullopt});
    for (std::size_t w = 0; w < c.works.size(); ++w)
      by_service_[service_of(c)].push_back({&r, i, w});
  }

  [[nodiscard]] std::uint32_t service_of(const sample_call& c) const {
    return plan_.operations[c.operation].service;
  }

  void resource(std::ostream& out, std::string_view version,
                const std::string& name, const places& spans,
                const char*& separator) {
    if (spans.empty())
      return;
    out << separator << "{\"resource\":{\"attributes\":["
        << attribute("service.name", name) << ','
        << attribute("caisson.arm", arm_.name)
        << "]},\"scopeSpans\":[{\"scope\":{\"name\":\"caisson\",\"version\":"
        << json_text(version) << "},\"spans\":[\n";
    auto between = "";
    for (const auto& s : spans) {
      out << between;
      write(out, s);
      between = ",\n";
    }
    out << "\n]}]}";
    separator = ",\n";
  }

  // -- spans ------------------------------------------------------------------

  // Numbers of calls and attempts of a request are small.
  [[nodiscard]] std::uint64_t id_of(const span_place& s) const {
    auto of_call = key_.with(s.request->number).with(s.call);
    auto id = (s.work ? of_call.with(*s.work) : of_call).value();
    return id == 0 ? 1 : id;
  }

  [[nodiscard]] std::string trace_id(const sample_request& r) const {
    auto key = key_.with(r.number);
    return fmt::format("{:016x}{:016x}", key.value(),
                       key.with("low").value() | 1);
  }

  // The attempt that made a call: the last one that had begun by then.
  [[nodiscard]] std::optional<std::uint64_t>
  parent_of(const span_place& s) const {
    if (s.work)
      return id_of({s.request, s.call, std::nullopt});
    const auto& c = s.request->calls[s.call];
    if (c.parent == sample_call::none)
      return std::nullopt;
    const auto& works = s.request->calls[c.parent].works;
    std::optional<std::size_t> maker;
    for (std::size_t i = 0; i < works.size(); ++i)
      if (works[i].begun && *works[i].begun <= c.sent_at)
        maker = i;
    return id_of({s.request, c.parent, maker});
  }

  void write(std::ostream& out, const span_place& s) const {
    const auto& c = s.request->calls[s.call];
    if (s.work) {
      const auto& w = c.works[*s.work];
      span(out, s, role::server, w.arrived, w.left, w.how, w.begun);
    } else {
      span(out, s, role::client, c.sent_at, c.ended, c.how, std::nullopt);
    }
  }

  // What has not ended lasts until the end of the run.
  void span(std::ostream& out, const span_place& s, role kind, duration from,
            const std::optional<duration>& to, std::string_view how,
            const std::optional<duration>& begun) const {
    const auto& r = *s.request;
    auto start = r.begun + from;
    auto end = to ? r.begun + *to : std::max(start, trace_.end);
    auto good = how == "good" || how == "done";
    out << R"({"traceId":")" << trace_id(r) << R"(","spanId":")"
        << fmt::format("{:016x}", id_of(s)) << R"(","parentSpanId":")";
    if (auto parent = parent_of(s))
      out << fmt::format("{:016x}", *parent);
    out << R"(","name":)" << json_text(name_of(r.calls[s.call]))
        << fmt::format(
             R"(,"kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}",)",
             static_cast<int>(kind), (span_epoch + start).count(),
             (span_epoch + end).count())
        << "\"attributes\":[" << attribute("caisson.request", r.number);
    if (!good)
      out << ',' << attribute("caisson.how", how.empty() ? "not ended" : how);
    out << ']';
    // When it did not have to wait, that is its beginning.
    if (begun && *begun > from)
      out << fmt::format(
        R"(,"events":[{{"timeUnixNano":"{}","name":"begun"}}])",
        (span_epoch + r.begun + *begun).count());
    out << fmt::format(R"(,"status":{{"code":{}}}}})", good ? 1 : 2);
  }

  // Of the operation, without the service.
  [[nodiscard]] std::string_view name_of(const sample_call& c) const {
    std::string_view name = plan_.operations[c.operation].name;
    auto dot = name.find('.');
    return dot == name.npos ? name : name.substr(dot + 1);
  }

  const arm_config& arm_;
  const trace_details& trace_;
  world_plan plan_;
  draw_key key_;
  std::vector<places> by_load_;
  std::vector<places> by_service_;
};

} // namespace

void write_spans(std::ostream& out, const report& r, std::string_view version) {
  out << "{\"resourceSpans\":[\n";
  auto separator = "";
  each_traced(r, [&](const arm_config& arm, const arm_result& result,
                     const trace_details& trace) {
    arm_spans{arm, result, trace}.write(out, version, separator);
  });
  out << "\n]}\n";
}

} // namespace caisson::sim
