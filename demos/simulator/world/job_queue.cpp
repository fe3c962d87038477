#include <simulator/world/job_queue.hpp>

namespace caisson::sim {

void job_queue::push_new(job_key key, job& j) {
  j.resumed = false;
  j.ranked = order_ == queue_order::deadline_first
             || order_ == queue_order::priority;
  if (j.ranked)
    ranked_.emplace(rank_of(j), key);
  else
    j.queued = new_.push_back(key);
}

void job_queue::push_resumed(job_key key, job& j) {
  j.resumed = true;
  j.queued = resumed_.push_back(key);
}

job_queue::rank job_queue::rank_of(const job& j) const {
  return {order_ == queue_order::deadline_first
            ? j.deadline.time_since_epoch().count()
            : -std::int64_t{j.priority},
          j.order};
}

bool job_queue::newest_first() const {
  return order_ == queue_order::lifo
         || (order_ == queue_order::adaptive_lifo && new_.size() > lifo_above_);
}

job_key job_queue::next() const {
  if (!resumed_.empty())
    return resumed_[resumed_.front()];
  if (!ranked_.empty())
    return ranked_.begin()->second;
  return new_[newest_first() ? new_.back() : new_.front()];
}

bool job_queue::remove(job& j) {
  if (j.ranked) {
    ranked_.erase(rank_of(j));
    j.ranked = false;
    return true;
  }
  if (j.queued == pooled_list<job_key>::none)
    return false;
  (j.resumed ? resumed_ : new_).erase(j.queued);
  j.queued = pooled_list<job_key>::none;
  return true;
}

} // namespace caisson::sim
