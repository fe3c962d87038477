#include <simulator/remote/run_job.hpp>

#include <simulator/play/run_result.hpp>
#include <simulator/play/world_hash.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/scenario/toml_text.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace caisson::sim {

namespace {

job_state refused_job(std::string why) {
  job_state out;
  out.stage = job_stage::refused;
  out.text = std::move(why);
  return out;
}

// Reads the world of a job and makes sure that it is the one that the sweep
// means.
world_cache::world world_of_job(const run_job& job,
                                const recording_source::finder& recordings) {
  problems found;
  auto root = parse_toml(job.text, job.file, found);
  if (root.empty() && !found.empty())
    throw config_error{std::move(found)};
  auto all = scenario_from(root, job.file, recording_source{recordings},
                           std::move(found));
  auto arm = std::ranges::find(all.arms, job.arm, &arm_config::name);
  if (arm == all.arms.end())
    throw config_error{{{problem_kind::unknown, "arm",
                         "the arm is not in the scenario", job.file}}};
  if (world_hash(root, *arm, job.build.version) != job.world)
    throw config_error{{{problem_kind::relation,
                         {},
                         "the scenario differs from that of the sweep; has a "
                         "load recording changed while it runs?",
                         job.file}}};
  return std::make_shared<const arm_config>(std::move(*arm));
}

} // namespace

std::string job_text(settings root, const std::string& arm) {
  root.erase("sweep");
  if (auto found = root.find("arm"); found != root.end())
    if (auto arms = std::get_if<settings>(&found->second.value))
      std::erase_if(*arms, [&](const auto& x) { return x.first != arm; });
  return toml_text(root);
}

std::string oversize_of(const run_job& job) {
  auto long_name = [](const auto& x) { return x.size() > longest_job_name; };
  if (job.text.size() > longest_job_text)
    return fmt::format("a scenario of {} bytes is too long for a worker, "
                       "allowed: {}",
                       job.text.size(), longest_job_text);
  if (job.metrics.size() > most_job_metrics
      || job.recordings.size() > most_job_recordings)
    return fmt::format("a run has more than {} metrics or {} recordings",
                       most_job_metrics, most_job_recordings);
  if (long_name(job.id) || long_name(job.file) || long_name(job.arm)
      || std::ranges::any_of(job.metrics, long_name)
      || std::ranges::any_of(job.recordings, long_name, &recording_ref::path))
    return fmt::format("a name has more than {} bytes", longest_job_name);
  return {};
}

world_cache::world world_cache::find(const run_job& job) const {
  std::lock_guard guard{mutex_};
  for (const auto& x : entries_)
    if (x.hash == job.world && x.arm == job.arm && x.text == job.text)
      return x.what;
  return nullptr;
}

void world_cache::keep(const run_job& job, world w) {
  std::lock_guard guard{mutex_};
  if (entries_.size() >= most)
    entries_.erase(entries_.begin());
  entries_.push_back({job.text, job.arm, job.world, std::move(w)});
}

job_state play_job(const run_job& job, const job_playing& how,
                   world_cache& worlds) {
  try {
    auto world = worlds.find(job);
    if (!world) {
      world = world_of_job(job, how.recordings);
      worlds.keep(job, world);
    }
    auto result = how.play(*world, {.seed = job.seed,
                                    .progress = how.progress,
                                    .stop = how.stop,
                                    .metrics = job.metrics,
                                    .log = {}});
    if (result.interrupted)
      return {};
    job_state out;
    out.stage = job_stage::done;
    out.permille = 1000;
    out.text = run_text(run_result_of(result, job.metrics));
    out.failures = failed_checks(result);
    return out;
  } catch (const std::bad_alloc&) {
    job_state out;
    out.stage = job_stage::failed;
    out.text = "not enough memory";
    return out;
  } catch (const std::exception& e) {
    return refused_job(e.what());
  } catch (...) {
    return refused_job("internal error");
  }
}

} // namespace caisson::sim
