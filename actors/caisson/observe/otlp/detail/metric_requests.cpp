#include <caisson/observe/otlp/detail/metric_requests.hpp>

#include <caisson/observe/detail/family_index.hpp>
#include <caisson/observe/detail/series.hpp>
#include <caisson/observe/event_text.hpp>
#include <caisson/observe/otlp/detail/requests.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace caisson::detail {

namespace {

constexpr std::string_view own_prefix = "caisson_";
constexpr std::string_view of_layers = "caisson.layer.";

bool cut(std::string& text, std::string_view ending) {
  if (!text.ends_with(ending))
    return false;
  text.resize(text.size() - ending.size());
  return true;
}

/// Series as metrics of OTLP in JSON.
class otlp_sink {
public:
  /// Those of a series, and since when its gate counts; null: no gate's.
  struct labels {
    std::string text = {};
    gate_starts::entry* gate = nullptr;
  };

  struct metric {
    std::string head;
    std::string points;
    std::string tail;
    bool counts_calls = false;
    bool is_counter = false;
  };

  otlp_sink(gate_starts& starts, std::uint64_t now, std::size_t enough,
            duration offset)
    : starts_(starts), now_(now), enough_(enough), offset_(offset) {}

  labels with(const labels& l, series_label own) {
    labels out = l;
    if (own.is_none())
      return out;
    append(out.text, own);
    std::string_view name{own.name};
    if (name == "gate" || name == "replica")
      out.gate = &starts_.of(out.text);
    return out;
  }

  metric& family(std::string_view name, const char* help, metric_type type) {
    if (size_ >= enough_)
      close();
    auto i = index_.of(name);
    if (i == all_.size())
      all_.push_back(begun(name, help, type));
    return all_[i];
  }

  void number(metric& f, const labels& l, series_label own, double value) {
    if (f.counts_calls && l.gate)
      starts_.note_calls(*l.gate, value);
    if (f.is_counter)
      add(f, l, own, true, fmt::format(R"("asInt":"{:.0f}")", value));
    else
      add(f, l, own, false, fmt::format(R"("asDouble":{})", value));
  }

  void histogram(metric& f, const labels& l, series_label own,
                 const series_histogram& x) {
    // Of each bucket alone; the last one has no bound.
    std::vector<std::string> counts;
    std::uint64_t before = 0;
    for (auto n : x.counts)
      counts.push_back(fmt::format("\"{}\"", n - std::exchange(before, n)));
    auto bounds = x.bounds.first(x.bounds.size() - 1);
    add(f, l, own, true,
        fmt::format(R"("count":"{}","sum":{},"bucketCounts":[{}],)"
                    R"("explicitBounds":[{}]{})",
                    x.count, x.sum, fmt::join(counts, ","),
                    fmt::join(bounds, ","), exemplars(l, x)));
  }

  std::vector<std::vector<std::string>> take() && {
    close();
    return std::move(closed_);
  }

private:
  static metric begun(std::string_view name, const char* help,
                      metric_type type) {
    auto form = otlp_name_of(name, type);
    metric out;
    out.head = fmt::format(R"({{"name":{},"description":{},"unit":"{}",)",
                           json_string(form.name), json_string(help),
                           form.unit);
    out.counts_calls = name == "caisson_calls_total";
    out.is_counter = type == metric_type::counter;
    // 2: cumulative.
    switch (type) {
      case metric_type::counter:
        out.head += R"("sum":{"aggregationTemporality":2,"isMonotonic":true,)";
        break;
      case metric_type::gauge:
        out.head += R"("gauge":{)";
        break;
      case metric_type::histogram:
        out.head += R"("histogram":{"aggregationTemporality":2,)";
    }
    out.head += R"("dataPoints":[)";
    out.tail = "]}}";
    return out;
  }

  // Each is sent once.
  std::string exemplars(const labels& l, const series_histogram& x) const {
    if (!l.gate)
      return {};
    l.gate->sending = std::max(l.gate->sending, x.published);
    std::string out;
    for (const auto& e : x.exemplars) {
      if (e.at <= l.gate->sent)
        continue;
      auto at = (e.at.time_since_epoch() + offset_).count();
      fmt::format_to(std::back_inserter(out),
                     R"({}{{"timeUnixNano":"{}","asDouble":{},)"
                     R"("spanId":"{:016x}","traceId":"{:016x}{:016x}"}})",
                     out.empty() ? "" : ",", std::max<std::int64_t>(at, 0),
                     to_seconds(e.took), e.span, e.trace_high, e.trace_low);
    }
    return out.empty() ? out : R"(,"exemplars":[)" + out + "]";
  }

  static void append(std::string& out, series_label x) {
    if (!out.empty())
      out += ',';
    out += otlp_attribute(x.name, x.value);
  }

  void add(metric& f, const labels& l, series_label own, bool has_start,
           std::string_view value) {
    auto before = f.points.size();
    if (!f.points.empty())
      f.points += ',';
    f.points += R"({"attributes":[)";
    f.points += l.text;
    if (!own.is_none()) {
      if (!l.text.empty())
        f.points += ',';
      f.points += otlp_attribute(own.name, own.value);
    }
    f.points += "],";
    if (has_start && l.gate)
      fmt::format_to(std::back_inserter(f.points),
                     R"("startTimeUnixNano":"{}",)",
                     std::min(l.gate->start, now_));
    fmt::format_to(std::back_inserter(f.points), R"("timeUnixNano":"{}",{}}})",
                   now_, value);
    size_ += f.points.size() - before;
  }

  void close() {
    auto& out = closed_.emplace_back();
    for (auto& x : all_)
      out.push_back(x.head + x.points + x.tail);
    all_.clear();
    index_ = {};
    size_ = 0;
  }

  gate_starts& starts_;
  const std::uint64_t now_;
  const std::size_t enough_;
  const duration offset_;
  family_index index_;
  std::vector<metric> all_;
  std::size_t size_ = 0;
  std::vector<std::vector<std::string>> closed_;
};

} // namespace

otlp_metric_name otlp_name_of(std::string_view prometheus, metric_type type) {
  // What metrics are about, if their names say more than that.
  constexpr std::string_view subjects[] = {"layer", "gate",    "worker", "key",
                                           "call",  "attempt", "wait"};
  std::string rest{prometheus.substr(own_prefix.size())};
  for (auto x : subjects)
    if (rest.starts_with(x) && rest.size() > x.size() && rest[x.size()] == '_')
      rest[x.size()] = '.';
  otlp_metric_name out{"caisson." + rest, ""};
  if (type == metric_type::counter)
    cut(out.name, "_total");
  if (out.name.ends_with("_ratio"))
    out.unit = "1";
  if (out.name.ends_with("_seconds")) {
    out.unit = "s";
    if (!out.name.starts_with(of_layers))
      cut(out.name, "_seconds");
  }
  return out;
}

gate_starts::entry& gate_starts::of(std::string_view attributes) {
  auto i = all_.find(attributes);
  if (i == all_.end())
    i = all_.emplace(std::string{attributes}, entry{.start = before_}).first;
  i->second.seen = true;
  return i->second;
}

void gate_starts::note_calls(entry& x, double calls) const {
  if (calls < x.calls)
    x.start = before_;
  x.calls = calls;
}

void gate_starts::end(std::uint64_t now) {
  std::erase_if(all_, [](const auto& x) { return !x.second.seen; });
  for (auto& [_, x] : all_) {
    x.seen = false;
    x.sent = x.sending;
  }
  before_ = now;
}

std::vector<std::vector<std::string>>
otlp_metrics(const std::vector<watched_gate>& gates, const metrics_config& c,
             gate_starts& starts, std::uint64_t now, std::size_t enough,
             duration offset) {
  otlp_sink sink{starts, now, enough, offset};
  series_writer<otlp_sink>{sink, c}.write(gates);
  starts.end(now);
  return std::move(sink).take();
}

} // namespace caisson::detail
