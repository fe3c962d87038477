#include <simulator/scenario/recorded_loads.hpp>

#include <simulator/scenario/load_recording.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

void take_arrivals(std::vector<duration> arrivals, const setting_path& path,
                   load_config& into, problems& out) {
  auto rows = arrivals.size();
  auto copies = static_cast<double>(rows) * into.scale;
  auto wrong = [&](std::string message) {
    out.push_back({problem_kind::relation, path, std::move(message)});
  };
  if (copies > static_cast<double>(most_arrivals))
    return wrong(fmt::format("{} arrivals times scale, which is {}, are too "
                             "many, allowed: {}",
                             rows, to_text(into.scale), most_arrivals));
  into.arrivals = into.scale == 1 ? std::move(arrivals)
                                  : copied(arrivals, into.scale);
  if (into.arrivals.empty())
    wrong(fmt::format("no arrival is left of {} with scale {}", rows,
                      to_text(into.scale)));
}

// Problems of `read_recording` without a place are about a field of its table.
problems under(const setting_path& path, problems found) {
  for (auto& p : found)
    if (p.place.empty())
      p.key = path.joined_with(p.key);
  return found;
}

problems read_recording_of(load_config& load, const setting_path& path,
                           const recording_source& from) {
  problems found;
  auto result = from.read(*load.recording, found);
  if (!found.empty())
    return under(path, std::move(found));
  if (load.recording->format == recording_format::timestamps) {
    take_arrivals(std::move(result.arrivals), path, load, found);
    return found;
  }
  load.profile.clear();
  for (std::size_t i = 0; i < result.rates.size(); ++i) {
    const auto& [when, rate] = result.rates[i];
    load.profile.push_back({when, rate, result.before[i]});
  }
  return found;
}

} // namespace

void read_recordings(arm_config& arm, const recording_source& from,
                     const section& root, problems& out) {
  for (auto& load : arm.loads) {
    auto path = setting_path{} / "load" / load.name / "trace";
    auto wrong = std::any_of(out.begin(), out.end(), [&](const problem& p) {
      return p.key.starts_with(path);
    });
    if (load.recording && !wrong)
      for (auto& p : with_places(read_recording_of(load, path, from), root))
        out.push_back(std::move(p));
  }
}

} // namespace caisson::sim
