#include <simulator/report/html_samples.hpp>

#include <algorithm>
#include <chrono>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

// A call takes about 80 bytes.
constexpr std::size_t most_calls = 50'000;

json microseconds(const std::optional<duration>& d) {
  return d ? json((d->count() + 500) / 1'000) : json(nullptr);
}

json name_or_null(std::string_view name) {
  return name.empty() ? json(nullptr) : json(name);
}

json to_json(const sample_work& x) {
  return json::array({microseconds(x.arrived), microseconds(x.begun),
                      microseconds(x.left), name_or_null(x.how)});
}

json to_json(const sample_call& x) {
  auto works = json::array();
  for (const auto& w : x.works)
    works.push_back(to_json(w));
  auto parent = x.parent == sample_call::none
                  ? std::int64_t{-1}
                  : static_cast<std::int64_t>(x.parent);
  return json::array({parent, x.operation, microseconds(x.sent_at),
                      microseconds(x.ended), name_or_null(x.how),
                      std::move(works)});
}

} // namespace

sample_settings samples_for(std::size_t arms, duration longest) {
  sample_settings out;
  auto seconds = std::max<std::int64_t>(
    1, std::chrono::ceil<std::chrono::seconds>(longest).count());
  auto per_second = std::max<std::size_t>(1, arms) * out.requests * out.calls;
  auto kept = std::max<std::size_t>(1, most_calls / per_second);
  auto every = (static_cast<std::size_t>(seconds) + kept - 1) / kept;
  out.every = static_cast<std::uint32_t>(
    std::clamp<std::size_t>(every, 1, 1'000'000'000));
  return out;
}

json sample_values(const run_details& details) {
  auto out = json::array();
  for (const auto& s : details.samples) {
    auto calls = json::array();
    for (const auto& c : s.calls)
      calls.push_back(to_json(c));
    out.push_back({{"number", s.number},
                   {"load", s.load},
                   {"begun", microseconds(s.begun)},
                   {"took", microseconds(s.took)},
                   {"how", name_or_null(s.how)},
                   {"more", s.more},
                   {"calls", std::move(calls)}});
  }
  return out;
}

} // namespace caisson::sim
