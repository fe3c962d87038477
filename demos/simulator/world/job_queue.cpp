#include <simulator/world/job_queue.hpp>

#include <utility>

namespace caisson::sim {

namespace {

call_info call_for(const job& j) {
  call_info call;
  call.deadline = j.deadline;
  call.priority = j.priority;
  call.key = j.call_key;
  return call;
}

} // namespace

void job_queue::push_new(job_key key, job& j, time_point now) {
  auto call = call_for(j);
  // A call is known by a number above zero.
  call.id = key + 1;
  j.waits = job::wait::first;
  j.place.permits = j.items;
  new_.join(call, j.place, now);
}

void job_queue::push_resumed(job_key key, job& j) {
  j.waits = job::wait::next;
  j.place.place = resumed_.push_back(key);
}

std::optional<job_key> job_queue::make_room(const job& newcomer,
                                            time_point now) {
  if (new_.empty())
    return std::nullopt;
  auto leaves = new_.make_room(call_for(newcomer), now);
  return leaves ? std::optional{leaves->call - 1} : std::nullopt;
}

job_key job_queue::next() const {
  return resumed_.empty() ? new_.next().call - 1 : resumed_[resumed_.front()];
}

void job_queue::take_next(job& j, bool served) {
  if (j.waits != job::wait::first || !served) {
    remove(j);
    return;
  }
  new_.take_next();
  j.waits = job::wait::none;
}

bool job_queue::remove(job& j) {
  switch (std::exchange(j.waits, job::wait::none)) {
    case job::wait::none:
      return false;
    case job::wait::first:
      new_.leave(j.place);
      return true;
    case job::wait::next:
      resumed_.erase(j.place.place);
      return true;
  }
  return false;
}

} // namespace caisson::sim
