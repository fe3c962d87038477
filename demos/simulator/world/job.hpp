// A request inside a service.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/world/work_clock.hpp>
#include <simulator/world/work_items.hpp>
#include <simulator/world/world_plan.hpp>

#include <caisson/base/timer_queue.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Names a job of a service.
using job_key = std::uint64_t;

/// What a service knows of a request, from its arrival until it leaves.
struct job {
  /// An actor, and the number under which it sent the request.
  using caller = std::pair<caf::actor_addr, std::uint64_t>;

  /// How far the calls of one entry of a step are.
  struct progress {
    std::uint32_t calls = 0;
    std::uint32_t open = 0;
  };

  portable::reply_to from;
  /// Ascending in the order in which jobs came in.
  std::uint64_t order = 0;
  std::uint64_t request = 0;
  draw_key key{0};
  const planned_operation* what = nullptr;
  time_point arrived;
  time_point deadline = never;
  std::int32_t priority = 0;
  /// As in `call_options`.
  std::uint8_t user_priority = 0;
  /// For policies per key, also of the calls that it makes.
  std::string call_key;
  /// More than one in a batch.
  std::uint32_t items = 1;
  /// How many results a batch wants; 0 for a single request.
  std::uint32_t results = 0;
  bool begun = false;
  bool has_server = false;
  bool given_up = false;
  /// It has done its first work.
  bool warmed_up = false;
  std::uint32_t step = 0;
  std::vector<progress> entries;
  /// Its calls in flight: how many, and the ends of the list that
  /// `outgoing_calls` keeps of them; 0 if there is none.
  std::uint32_t open_calls = 0;
  std::uint64_t first_call = 0;
  std::uint64_t last_call = 0;
  /// Whether it waits in a `job_queue` for its first server, or for another
  /// one, and where.
  enum class wait : std::uint8_t { none, first, next };
  wait waits = wait::none;
  waiting_queue::stay place;
  /// When its work ends: a timer, or a piece of a `work_clock`.
  timer_queue<std::uint64_t>::handle due_timer;
  work_clock::handle in_progress;
  time_point held_since;
  duration held = duration::zero();
  bool watched = false;
  caller requester;
};

/// The job for what is `asked`, which is to do `what` and came `now`, that is
/// `at` after the start of the run.
[[nodiscard]] job job_for(const work_items& asked,
                          const planned_operation& what, time_point now,
                          duration at);

/// How long the first work of `j` takes, that of all its items together, if
/// nothing slows it down.
[[nodiscard]] duration first_work(const job& j);

/// How long the work of the step takes at which `j` is, if nothing slows it
/// down.
[[nodiscard]] duration step_work(const job& j);

/// Whether `j` fails after its first work, which it does with `probability`.
[[nodiscard]] bool fails(const job& j, double probability);

} // namespace caisson::sim
