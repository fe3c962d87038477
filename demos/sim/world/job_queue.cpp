#include <sim/world/job_queue.hpp>

namespace caisson::sim {

void job_queue::push_new(job_key key, job& j) {
  j.resumed = false;
  j.queued = new_.push_back(key);
}

void job_queue::push_resumed(job_key key, job& j) {
  j.resumed = true;
  j.queued = resumed_.push_back(key);
}

job_key job_queue::next() const {
  if (!resumed_.empty())
    return resumed_[resumed_.front()];
  return new_[order_ == queue_order::lifo ? new_.back() : new_.front()];
}

bool job_queue::remove(job& j) {
  if (j.queued == pooled_list<job_key>::none)
    return false;
  (j.resumed ? resumed_ : new_).erase(j.queued);
  j.queued = pooled_list<job_key>::none;
  return true;
}

} // namespace caisson::sim
