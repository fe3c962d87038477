#include <simulator/play/run.hpp>

#include <simulator/report/quiescence.hpp>
#include <simulator/report/ranges.hpp>
#include <simulator/report/threshold_times.hpp>
#include <simulator/report/verdict.hpp>
#include <simulator/report/violations.hpp>
#include <simulator/report/warnings.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/world/world.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// How often the load is looked at, whether all of it is answered, and how far a
// run has come.
constexpr auto check_interval = 100ms;

bool stopped(const run_options& o) {
  return o.stop && o.stop->load(std::memory_order_relaxed);
}

// Runs until `end` or until `done`; ends each second for the recorder. False
// if it was stopped before.
template <class F>
bool play(world& w, duration end, const run_options& o, double whole, F done) {
  auto t = w.elapsed() + duration{1};
  while (t < end && !done()) {
    t = std::min(end, t - t % check_interval + check_interval);
    if (!stopped(o))
      w.advance_to(t);
    if (stopped(o))
      return false;
    if (t % 1s == duration::zero())
      w.recorder().end_second(t);
    if (o.progress)
      o.progress(std::min(1.0, to_seconds(t) / whole));
  }
  return true;
}

// False if it was stopped before.
bool play_load(world& w, const arm_config& arm, const run_options& o,
               threshold_watch& threshold_times) {
  auto whole = to_seconds(arm.length);
  auto never = [] { return false; };
  for (auto at : threshold_times.begins()) {
    if (!play(w, at, o, whole, never))
      return false;
    threshold_times.begin(at);
  }
  return play(w, arm.length, o, whole, never);
}

// False if it was stopped before.
bool verify(world& w, const arm_config& arm, const run_options& o,
            arm_result& r) {
  r.violations = count_violations(r);
  w.time().watch([&] { return !stopped(o); });
  auto found = check_quiescence(w, arm);
  w.time().watch({});
  r.violations.insert(r.violations.end(), found.begin(), found.end());
  return !stopped(o);
}

// Still referred to, so that nobody takes it for forgotten.
void abandon(std::unique_ptr<world> w) {
  static std::mutex mutex;
  static auto* all = new std::vector<world*>;
  std::lock_guard guard{mutex};
  all->push_back(w.release());
}

} // namespace

arm_result run_arm(const arm_config& arm, const run_options& options) {
  auto begin = std::chrono::steady_clock::now();
  auto owned = std::make_unique<world>(arm, options.seed, options.log,
                                       options.stop);
  auto& w = *owned;
  auto& recorder = w.recorder();
  recorder.record_rows(options.step, watched_ranges(arm));
  if (options.details || options.trace)
    recorder.record_details(options.details, options.trace);
  threshold_watch threshold_times{arm, options.metrics, recorder};
  auto whole = to_seconds(arm.length);
  // A tenth of a second of the world can take minutes.
  w.time().watch([&] {
    if (options.progress)
      options.progress(std::min(1.0, to_seconds(w.elapsed()) / whole));
    return !stopped(options);
  });
  auto interrupted = !play_load(w, arm, options, threshold_times);
  auto length = interrupted ? w.elapsed() + duration{1} : arm.length;
  if (!interrupted)
    interrupted = !play(w, duration_sum(arm.length, arm.drain), options, whole,
                        [&] { return recorder.open_requests() == 0; });
  w.time().watch({});
  auto end = w.elapsed() + duration{1};
  if (end > recorder.ended_seconds())
    recorder.end_second(end); // The last one is not whole.
  auto r = recorder.result(w.time().now());
  recorder.move_rows_to(r, w.time().now());
  r.threshold_times = threshold_times.take();
  r.gates = w.gates();
  r.name = arm.name;
  r.title = arm.title;
  r.seed = options.seed;
  r.length = length;
  r.warmup = arm.warmup;
  r.end = end;
  r.interrupted = interrupted;
  r.recovery_from = recovery_start(arm);
  decide_verdict(r);
  r.warnings = recovery_warnings(arm, r);
  for (auto& text : load_warnings(r))
    r.warnings.push_back(std::move(text));
  for (auto& text : fault_warnings(arm, r))
    r.warnings.push_back(std::move(text));
  r.messages = w.messages();
  if (options.verify && !interrupted)
    interrupted = r.interrupted = !verify(w, arm, options, r);
  r.wall_seconds = to_seconds(std::chrono::steady_clock::now() - begin);
  if (interrupted && options.abandon)
    abandon(std::move(owned));
  return r;
}

} // namespace caisson::sim
