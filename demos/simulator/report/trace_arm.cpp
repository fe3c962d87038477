#include <simulator/report/trace_arm.hpp>

#include <simulator/report/shown_faults.hpp>
#include <simulator/report/trace_lanes.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/world/run_details.hpp>
#include <simulator/world/world_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

using trace_kind = trace_event::kind;

// A span that is to be put on a lane, and what it is of.
struct span {
  duration start;
  duration end;
  const sample_request* request = nullptr;
  const sample_call* call = nullptr;
  const sample_work* work = nullptr;
};

// What something is called that did not end as it should.
std::string with_ending(const std::string& name, std::string_view how) {
  if (how == "good" || how == "done")
    return name;
  return fmt::format("{} ({})", name, how.empty() ? "not ended" : how);
}

// The tracks of one group on which spans lie that may overlap.
class lane_tracks {
public:
  lane_tracks(trace_events& out, std::string name)
    : out_(out), name_(std::move(name)) {}

  trace_track place(const span& s) {
    auto lane = lanes_.place(s.start, s.end);
    if (lane == tracks_.size())
      tracks_.push_back(out_.add_track(fmt::format("{} {}", name_, lane + 1)));
    return tracks_[lane];
  }

private:
  trace_events& out_;
  std::string name_;
  trace_lanes lanes_;
  std::vector<trace_track> tracks_;
};

class arm_tracer {
public:
  arm_tracer(trace_events& out, const arm_config& arm, const arm_result& r,
             std::string_view prefix)
    : out_(out), arm_(arm), result_(r), trace_(*r.details->trace),
      prefix_(prefix), plan_(arm), by_load_(arm.loads.size()),
      by_route_(plan_.routes.size()), work_(arm.services.size()),
      waits_(arm.services.size()), rejected_(arm.services.size()) {}

  void add_all() {
    sort_out();
    add_faults();
    for (std::size_t i = 0; i < by_load_.size(); ++i)
      add_load(i);
    for (std::size_t i = 0; i < by_route_.size(); ++i)
      add_gate(i);
    for (std::size_t i = 0; i < arm_.services.size(); ++i)
      add_service(i);
  }

private:
  // -- sorting ----------------------------------------------------------------

  void sort_out() {
    for (const auto& r : trace_.requests) {
      by_load_[r.load].push_back(
        {r.begun, r.took ? r.begun + *r.took : trace_.end, &r});
      for (const auto& c : r.calls) {
        by_route_[c.route].push_back(
          {r.begun + c.sent_at, end_of(r, c.ended), &r, &c});
        for (const auto& w : c.works)
          sort_work(r, c, w);
      }
    }
    for (const auto& change : trace_.breakers)
      by_breaker_[change.breaker].push_back(&change);
    for (auto* all : {&by_route_, &work_, &waits_, &rejected_})
      for (auto& spans : *all)
        std::ranges::stable_sort(spans, {}, &span::start);
  }

  void sort_work(const sample_request& r, const sample_call& c,
                 const sample_work& w) {
    auto service = plan_.operations[c.operation].service;
    auto arrived = r.begun + w.arrived;
    auto end = end_of(r, w.left);
    if (w.how == "refuse" || w.how == "down") {
      rejected_[service].push_back({arrived, arrived, &r, &c, &w});
      return;
    }
    auto begun = w.begun ? r.begun + *w.begun : end;
    if (begun > arrived)
      waits_[service].push_back({arrived, begun, &r, &c, &w});
    if (w.begun)
      work_[service].push_back({begun, end, &r, &c, &w});
  }

  [[nodiscard]] duration end_of(const sample_request& r,
                                const std::optional<duration>& d) const {
    return d ? r.begun + *d : trace_.end;
  }

  // -- parts ------------------------------------------------------------------

  void open(std::string_view name) {
    out_.add_process(prefix_ + std::string{name});
  }

  [[nodiscard]] const std::string& operation(const sample_call& c) const {
    return plan_.operations[c.operation].name;
  }

  void add_span(trace_track track, duration from, duration to, std::string name,
                std::string args) {
    out_.add({trace_kind::span, track, from, to - from, std::move(name),
              std::move(args)});
  }

  // Clients: each request with its attempts in it.
  void add_load(std::size_t load) {
    if (by_load_[load].empty())
      return;
    open(arm_.loads[load].name + ": requests");
    lane_tracks lanes{out_, "request"};
    for (const auto& s : by_load_[load]) {
      auto track = lanes.place(s);
      const auto& r = *s.request;
      auto name = r.calls.empty() ? std::string{"request"}
                                  : operation(r.calls.front());
      add_span(track, s.start, s.end, with_ending(name, r.how),
               fmt::format(R"({{"request":{},"how":{},"not_kept":{}}})",
                           r.number, json_text(r.how), r.more));
      std::size_t attempt = 0;
      for (const auto& c : r.calls)
        if (c.parent == sample_call::none)
          add_span(track, r.begun + c.sent_at,
                   std::min(s.end, end_of(r, c.ended)),
                   with_ending(fmt::format("attempt {}", ++attempt), c.how),
                   fmt::format(R"({{"how":{}}})", json_text(c.how)));
    }
  }

  // -- gates ------------------------------------------------------------------

  // From the calls' own point of view: an attempt is in flight, or the gate
  // holds the call.
  void add_gate(std::size_t route) {
    if (by_route_[route].empty())
      return;
    const auto& name = plan_.routes[route].name;
    open("gate " + name);
    lane_tracks lanes{out_, "call"};
    for (const auto& s : by_route_[route]) {
      auto track = lanes.place(s);
      add_span(track, s.start, s.end,
               with_ending(operation(*s.call), s.call->how),
               fmt::format(R"({{"request":{},"how":{}}})", s.request->number,
                           json_text(s.call->how)));
      add_attempts(track, s);
    }
    add_breakers(name);
  }

  [[nodiscard]] std::vector<std::pair<duration, duration>>
  attempts_of(const span& s) const {
    std::vector<std::pair<duration, duration>> out;
    auto add = [&](duration from, const std::optional<duration>& to) {
      out.emplace_back(s.request->begun + from, end_of(*s.request, to));
    };
    for (const auto& t : s.call->trips)
      add(t.sent, t.back);
    // Without a network, an attempt is at the service at once.
    if (out.empty())
      for (const auto& w : s.call->works)
        add(w.arrived, w.left);
    return out;
  }

  void add_attempts(trace_track track, const span& s) {
    auto all = attempts_of(s);
    auto from = s.start;
    auto hold_until = [&](duration t) {
      if (t > from)
        add_span(track, from, t, "held by the gate", {});
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto [sent, back] = all[i];
      if (sent > s.end)
        break;
      hold_until(sent);
      // A gate that sends again has given up the attempt before.
      auto next = i + 1 < all.size() ? all[i + 1].first : s.end;
      auto end = std::max(sent, std::min({back, next, s.end}));
      add_span(track, sent, end, fmt::format("attempt {}", i + 1), {});
      from = end;
    }
    hold_until(s.end);
  }

  void add_breakers(const std::string& gate) {
    for (const auto& [breaker, changes] : by_breaker_) {
      const auto& name = result_.breakers[breaker];
      if (!name.starts_with(gate + "/"))
        continue;
      auto track = out_.add_track(name.substr(gate.size() + 1));
      for (const auto* change : changes)
        out_.add(
          {trace_kind::instant, track, change->at, {}, change->state, {}});
    }
  }

  // -- services ---------------------------------------------------------------

  void add_service(std::size_t i) {
    const auto& c = arm_.services[i];
    auto many = c.servers == no_limit;
    open(
      fmt::format("service {} ({} server{})", c.name,
                  many ? std::string{"unlimited"} : std::to_string(c.servers),
                  c.servers == 1 ? "" : "s"));
    add_counters(i);
    lane_tracks working{out_, many || c.async ? "request" : "server"};
    for (const auto& s : work_[i])
      add_work(working.place(s), s,
               with_ending(operation(*s.call), s.work->how));
    lane_tracks waiting{out_, "waiting"};
    for (const auto& s : waits_[i])
      add_work(waiting.place(s), s, operation(*s.call) + " waits");
    if (!rejected_[i].empty()) {
      auto track = out_.add_track("rejected");
      for (const auto& s : rejected_[i])
        out_.add({trace_kind::instant,
                  track,
                  s.start,
                  {},
                  with_ending(operation(*s.call), s.work->how),
                  fmt::format(R"({{"request":{}}})", s.request->number)});
    }
    add_breakers("-> " + c.name);
  }

  void add_work(trace_track track, const span& s, std::string name) {
    add_span(track, s.start, s.end, std::move(name),
             fmt::format(R"({{"request":{},"how":{}}})", s.request->number,
                         json_text(s.work->how)));
  }

  // What the rows say, also about requests that are not traced.
  void add_counters(std::size_t service) {
    using std::chrono::seconds;
    auto track = out_.add_track("queue and servers");
    for (const auto& row : result_.rows) {
      duration begin = seconds{row.second};
      duration end = begin + seconds{result_.step};
      if (end <= trace_.settings.from || begin > last()
          || service >= row.services.size())
        continue;
      const auto& x = row.services[service];
      for (const auto& c : service_row_columns)
        if (!c.traits.counter.empty()
            && (!c.applies || c.applies(x, result_.services[service])))
          out_.add({trace_kind::counter,
                    track,
                    std::min(end, trace_.end),
                    {},
                    std::string{c.traits.counter},
                    fmt::format(R"({{"requests":{}}})", x.*field_of(c))});
    }
  }

  // When the last traced request ended.
  [[nodiscard]] duration last() {
    if (!last_) {
      last_ = std::min(trace_.settings.to, trace_.end);
      for (const auto& spans : by_load_)
        for (const auto& s : spans)
          last_ = std::max(*last_, s.end);
    }
    return *last_;
  }

  // -- faults -----------------------------------------------------------------

  // With the replica, if those of a service are hit each by itself.
  [[nodiscard]] static std::string target_of(const fault_config& f,
                                             const fault_time& x) {
    if (x.replica == 0 || replica_target_in(f.target).number)
      return f.target;
    return fmt::format("{}#{}", f.target, x.replica);
  }

  void add_faults() {
    struct one_time {
      duration at;
      duration end;
      fault_kind kind;
    };
    std::map<std::string, std::vector<one_time>> by_target;
    for (std::size_t i = 0; i < arm_.faults.size(); ++i) {
      const auto& f = arm_.faults[i];
      for (const auto& x : shown_fault_times(arm_, i, result_)) {
        auto end = duration_sum(x.at, x.lasts);
        if (x.at <= last() && end >= trace_.settings.from)
          by_target[target_of(f, x)].push_back({x.at, end, f.kind});
      }
    }
    if (by_target.empty())
      return;
    open("faults");
    for (auto& [target, all] : by_target) {
      std::ranges::stable_sort(all, {}, &one_time::at);
      lane_tracks lanes{out_, target};
      for (const auto& x : all) {
        auto end = std::min(x.end, std::max(trace_.end, x.at));
        add_span(lanes.place({x.at, end}), x.at, end,
                 std::string{fault_name(x.kind)}, {});
      }
    }
  }

  trace_events& out_;
  const arm_config& arm_;
  const arm_result& result_;
  const trace_details& trace_;
  std::string prefix_;
  world_plan plan_;
  std::vector<std::vector<span>> by_load_;
  std::vector<std::vector<span>> by_route_;
  // By service.
  std::vector<std::vector<span>> work_;
  std::vector<std::vector<span>> waits_;
  std::vector<std::vector<span>> rejected_;
  std::map<std::size_t, std::vector<const breaker_change*>> by_breaker_;
  std::optional<duration> last_;
};

} // namespace

void add_arm_trace(trace_events& out, const arm_config& arm,
                   const arm_result& r, std::string_view prefix) {
  arm_tracer{out, arm, r, prefix}.add_all();
}

} // namespace caisson::sim
