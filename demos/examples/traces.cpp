// Writes the spans of a traced call through two gates in OTLP's JSON form.
#include <caisson/gate.hpp>
#include <caisson/observe/event_log.hpp>
#include <caisson/testing/scripted_worker.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

// [spans]
/// Turns ends of calls and of attempts into spans, in the form that collectors
/// take at /v1/traces.
class otlp_spans {
public:
  void add(const caisson::event& x, caisson::utc_time at) {
    auto is_call = x.kind == caisson::event_kind::call_ended;
    if (!is_call && x.kind != caisson::event_kind::attempt_ended)
      return;
    // What a call is to a gate: handled (1: internal). An attempt asks another
    // part of the system (3: client).
    spans_.push_back(fmt::format(
      R"({{"traceId":"{}","spanId":"{}","parentSpanId":"{}",)"
      R"("name":{},"kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}",)"
      R"("attributes":[{},{}],"status":{{"code":{}}}}})",
      x.trace_id, x.span_id, x.parent_span_id,
      caisson::json_string(is_call ? x.gate : x.gate + " to " + x.detail),
      is_call ? 1 : 3, nanoseconds(at - x.delay), nanoseconds(at),
      attribute("caisson.gate", x.gate), attribute("caisson.outcome", x.to),
      x.to == "ok" ? 1 : 2));
  }

  [[nodiscard]] std::string text() const {
    return fmt::format(
      R"({{"resourceSpans":[{{"resource":{{"attributes":[{}]}},)"
      R"("scopeSpans":[{{"scope":{{"name":"caisson"}},"spans":[)"
      "\n{}\n]}}]}}]}}",
      attribute("service.name", "shop"), fmt::join(spans_, ",\n"));
  }

private:
  static std::int64_t nanoseconds(caisson::utc_time t) {
    return t.time_since_epoch().count();
  }

  static std::string attribute(std::string_view key, std::string_view value) {
    return fmt::format(R"({{"key":{},"value":{{"stringValue":{}}}}})",
                       caisson::json_string(key), caisson::json_string(value));
  }

  std::vector<std::string> spans_;
};
// [/spans]

int main() {
  caisson::virtual_time world;

  // The first attempt fails after 30 ms, the second succeeds after 20 ms.
  caisson::scripted_worker service{world};
  using reply = caisson::scripted_worker::reply;
  service.plan(reply::error(caf::sec::runtime_error).after(30ms));
  service.plan(reply::value(std::int32_t{42}).after(20ms));
  auto payments = caisson::spawn_gate(
    world, service.handle(),
    caisson::stack{"payments"}.retrier(
      {.backoff = caisson::schedule::constant(50ms), .idempotent = true}));
  auto shop = caisson::spawn_gate(world, payments, caisson::stack{"shop"});

  otlp_spans spans;
  // The clock of this demo is virtual, and begins here. With a real one the
  // log's own time is right.
  constexpr caisson::utc_time start = std::chrono::sys_days{
    std::chrono::year{2026} / 1 / 1};
  auto log = caisson::event_log::to_function(
    world, [&](const caisson::event& x, caisson::utc_time) {
      spans.add(x, start + std::chrono::nanoseconds{x.time_ns});
    });
  log.follow(shop);
  log.follow(payments);
  world.run_until_idle();

  // As it came with an HTTP request.
  auto answer = world.request(
    shop,
    caisson::wrap(std::int32_t{7})
      .traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  world.advance(1s);
  log.close();
  fmt::print("{}\n", spans.text());
  return answer.ok() && log.written() == 6 ? 0 : 1;
}
