#include <simulator/world/job.hpp>

#include <simulator/world/purpose.hpp>

namespace caisson::sim {

job job_for(const work_items& asked, const planned_operation& what,
            time_point now, duration at) {
  job j;
  j.request = asked.first->request;
  j.key = draw_key{asked.first->key};
  j.what = &what;
  j.arrived = now;
  j.items = asked.items;
  j.results = asked.results;
  if (const auto* options = asked.options) {
    j.priority = options->priority;
    j.user_priority = options->user_priority;
    j.call_key = options->key;
    if (options->deadline_ns != 0)
      j.deadline = time_point{duration{options->deadline_ns}};
    // A further attempt is the same request, but it is not done in the same
    // time.
    if (options->attempt > 1)
      j.key = j.key.with(options->attempt)
                .with(static_cast<std::uint64_t>(at.count()));
  }
  return j;
}

duration first_work(const job& j) {
  keyed_random random{j.key.with(purpose::work)};
  auto sum = j.what->time.draw(random);
  if (!j.what->item_time.zero()) {
    keyed_random more{j.key.with(purpose::items)};
    for (std::uint32_t i = 0; i < j.items; ++i)
      sum = duration_sum(sum, j.what->item_time.draw(more));
  }
  return sum;
}

duration step_work(const job& j) {
  keyed_random random{j.key.with(purpose::work).with(j.step + 1)};
  return j.what->steps[j.step].work.draw(random);
}

bool fails(const job& j, double probability) {
  return probability > 0
         && keyed_random{j.key.with(purpose::error)}.uniform() < probability;
}

} // namespace caisson::sim
