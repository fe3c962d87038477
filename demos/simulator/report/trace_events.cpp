#include <simulator/report/trace_events.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace caisson::sim {

namespace {

// Times are in microseconds.
std::string microseconds(duration d) {
  return fmt::format("{}.{:03}", d.count() / 1'000, d.count() % 1'000);
}

void write_event(std::ostream& out, const trace_event& e) {
  out << fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{})",
                     static_cast<char>(e.what), e.track.process, e.track.thread,
                     microseconds(e.at));
  if (e.what == trace_event::kind::span)
    out << fmt::format(R"(,"dur":{})", microseconds(e.lasts));
  else if (e.what == trace_event::kind::instant)
    out << R"(,"s":"t")";
  out << R"(,"name":)" << json_text(e.name);
  if (!e.args.empty())
    out << R"(,"args":)" << e.args;
  out << '}';
}

} // namespace

std::uint32_t trace_events::add_process(std::string_view name) {
  threads_ = 0;
  names_.push_back({{++processes_, 0}, true, std::string{name}});
  return processes_;
}

trace_track trace_events::add_track(std::string_view name) {
  trace_track out{processes_, ++threads_};
  names_.push_back({out, false, std::string{name}});
  return out;
}

void trace_events::write(std::ostream& out) {
  std::ranges::stable_sort(events_, {}, &trace_event::at);
  auto separator = "[\n";
  auto next = [&] {
    out << separator;
    separator = ",\n";
  };
  for (const auto& n : names_) {
    std::string_view of = n.of_process ? "process" : "thread";
    auto index = n.of_process ? n.track.process : n.track.thread;
    auto head = fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{})",
                            n.track.process, n.track.thread, of);
    next();
    out << head << R"(_name","args":{"name":)" << json_text(n.name) << "}}";
    next();
    out << head
        << fmt::format(R"(_sort_index","args":{{"sort_index":{}}}}})", index);
  }
  for (const auto& e : events_) {
    next();
    write_event(out, e);
  }
  out << (names_.empty() && events_.empty() ? "[]" : "\n]");
}

std::string json_text(std::string_view text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace caisson::sim
