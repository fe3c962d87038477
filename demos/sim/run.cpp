#include <sim/run.hpp>

#include <sim/world.hpp>

#include <algorithm>
#include <chrono>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

// How often the outside is looked at: short enough for a progress bar and for
// whoever wants to stop, long enough to cost nothing.
constexpr auto look_every = 100ms;

bool stopped(const run_options& o) {
  return o.stop && o.stop->load(std::memory_order_relaxed);
}

// Plays until `end` or until `done`; ends each second in the books.
template <class F>
void play(world& w, duration end, const run_options& o, double whole, F done) {
  auto t = w.elapsed() + duration{1};
  while (t < end && !stopped(o) && !done()) {
    t = std::min(end, t - t % look_every + look_every);
    w.advance_to(t);
    if (t % 1s == duration::zero())
      w.record().end_second();
    if (o.progress)
      o.progress(std::min(1.0, seconds(t) / whole));
  }
}

} // namespace

arm_result run_arm(const arm_config& arm, const run_options& options) {
  auto begin = std::chrono::steady_clock::now();
  world w{arm, options.seed, options.log};
  auto& record = w.record();
  auto whole = seconds(arm.length);
  play(w, arm.length, options, whole, [] { return false; });
  auto interrupted = stopped(options);
  auto length = interrupted ? w.elapsed() + duration{1} : arm.length;
  if (!interrupted)
    play(w, plus(arm.length, arm.drain), options, whole,
         [&] { return record.open_requests() == 0; });
  if ((w.elapsed() + duration{1}) % 1s != duration::zero())
    record.end_second(); // The last one is not whole.
  auto r = record.result(w.time().now());
  r.gates = w.gates();
  r.name = arm.name;
  r.title = arm.title;
  r.seed = options.seed;
  r.length = length;
  r.warmup = arm.warmup;
  r.interrupted = interrupted;
  r.recovery_from = recovery_start(arm);
  judge(r);
  r.messages = w.messages();
  r.wall_seconds = seconds(std::chrono::steady_clock::now() - begin);
  return r;
}

} // namespace caisson::sim
