#include <caisson/caf/status.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace caisson {

namespace {

std::int64_t metric_in(const std::map<std::string, std::int64_t>& all,
                       const std::string& name, std::string_view owner) {
  if (auto i = all.find(name); i != all.end())
    return i->second;
  throw std::out_of_range{fmt::format("{} has no metric {}", owner, name)};
}

} // namespace

std::string_view name_of(gate_state x) noexcept {
  switch (x) {
    case gate_state::accepting:
      return "accepting";
    case gate_state::draining:
      return "draining";
  }
  return "unknown";
}

std::string_view name_of(worker_state x) noexcept {
  switch (x) {
    case worker_state::none:
      return "none";
    case worker_state::up:
      return "up";
    case worker_state::restarting:
      return "restarting";
    case worker_state::down:
      return "down";
    case worker_state::given_up:
      return "given_up";
    case worker_state::ended:
      return "ended";
  }
  return "unknown";
}

const layer_status& status::layer(std::string_view layer_name) const {
  auto i = std::find_if(layers.begin(), layers.end(),
                        [&](const auto& x) { return x.name == layer_name; });
  if (i == layers.end())
    throw std::out_of_range{
      fmt::format("{} has no layer {}", name, layer_name)};
  return *i;
}

std::int64_t status::metric(const std::string& metric_name) const {
  return metric_in(metrics, metric_name, name);
}

std::int64_t status::metric(std::string_view layer_name,
                            const std::string& metric_name) const {
  return metric_in(layer(layer_name).metrics, metric_name, layer_name);
}

duration_summary status::duration_of(measured what, bool ok) const {
  for (const auto& x : durations)
    if (x.what == what && x.ok == ok)
      return x;
  return {.what = what, .ok = ok};
}

std::optional<std::uint32_t> tally_summary::quantile(double q) const {
  const auto bounds = bounds_of(what);
  auto target = q * static_cast<double>(count);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bounds.size() && i < counts.size(); ++i) {
    seen += counts[i];
    if (seen > 0 && static_cast<double>(seen) >= target)
      return bounds[i];
  }
  return std::nullopt;
}

tally_summary status::tally_of(tallied what, bool ok) const {
  for (const auto& x : tallies)
    if (x.what == what && x.ok == ok)
      return x;
  return {.what = what, .ok = ok};
}

} // namespace caisson
