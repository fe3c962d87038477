#include <caisson/observe/metrics/detail/families.hpp>

#include <caisson/observe/detail/family_index.hpp>
#include <caisson/observe/detail/series.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Series as the objects of prometheus-cpp.
class family_sink {
public:
  using labels = std::vector<ClientMetric::Label>;

  static labels with(const labels& l, series_label own) {
    labels out;
    out.reserve(l.size() + 1);
    out = l;
    if (!own.is_none())
      out.push_back({own.name, std::string{own.value}});
    return out;
  }

  MetricFamily& family(std::string_view name, const char* help,
                       metric_type type) {
    auto i = index_.of(name);
    if (i == all_.size())
      all_.push_back({std::string{name}, help, type_of(type), {}});
    return all_[i];
  }

  static void number(MetricFamily& f, const labels& l, series_label own,
                     double value) {
    auto& x = f.metric.emplace_back();
    x.label = with(l, own);
    (f.type == MetricType::Counter ? x.counter.value : x.gauge.value) = value;
  }

  static void histogram(MetricFamily& f, const labels& l, series_label own,
                        const series_histogram& x) {
    auto& m = f.metric.emplace_back();
    m.label = with(l, own);
    auto& h = m.histogram;
    h.sample_count = x.count;
    h.sample_sum = x.sum;
    h.bucket.reserve(x.bounds.size());
    for (std::size_t i = 0; i < x.bounds.size(); ++i)
      h.bucket.push_back({x.counts[i], x.bounds[i]});
  }

  std::vector<MetricFamily> take() && { return std::move(all_); }

private:
  static MetricType type_of(metric_type x) {
    switch (x) {
      case metric_type::counter:
        return MetricType::Counter;
      case metric_type::gauge:
        return MetricType::Gauge;
      default:
        return MetricType::Histogram;
    }
  }

  family_index index_;
  std::vector<MetricFamily> all_;
};

} // namespace

std::vector<MetricFamily> families_of(const std::vector<watched_gate>& gates,
                                      const metrics_config& c) {
  family_sink out;
  series_writer<family_sink>{out, c}.write(gates);
  return std::move(out).take();
}

} // namespace caisson::detail
