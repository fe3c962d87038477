#include <caisson/policies/semaphore.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/waiting_settings.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, semaphore_config& c) {
  describe_common(v, c);
  v.integer({"permits", "how many permits there are, that is, how many calls "
                        "of weight 1 may be below at the same time"},
            c.permits, {1, 1'000'000});
  v.integer({"max_waiters", "how many calls may wait for a permit; 0: none, a "
                            "call that finds no permit is refused at once"},
            c.max_waiters, {0, 1'000'000});
  v.on({"max_wait", "how long a call may wait; unlimited: until its own "
                    "deadline; 0: not at all, only without `max_waiters`"},
       c.max_wait, {duration::zero(), unlimited});
  detail::describe_order(v, c.order, c.queue);
  detail::describe_partitions(v, c.partitions);
}

void check(const semaphore_config& c, const setting_path& path, problems& out) {
  detail::check_waiting(c.max_waiters, c.max_wait, path, out);
  detail::check_order(c.max_waiters, c.order, c.queue, path, out);
  detail::check_partitions("permits", c.permits, c.max_waiters, c.partitions,
                           path, out);
}

void check_per_key(const semaphore_config& c, const setting_path& path,
                   problems& out) {
  detail::check_order_per_key(c.order, path, out);
  detail::check_partitions_per_key(c.partitions, path, out);
}

// -- construction -------------------------------------------------------------

semaphore::semaphore(semaphore_config c) : lending_base(std::move(c)) {}

// -- calls --------------------------------------------------------------------

decision semaphore::admit(call_info& call, slot& notes, env& e) {
  notes.start<call_state>().permits = std::max(call.permits, 1u);
  return ask(call, notes, e);
}

decision semaphore::pass_down(slot& notes, env& e) {
  take_permits(notes.as<call_state>(), e.now);
  count(counter::passed);
  return decision::pass();
}

decision semaphore::complete(call_info& call, slot& notes, outcome&, env& e) {
  count(counter::finished);
  give_back(call, notes.as<call_state>(), e.now);
  serve(e);
  return decision::pass();
}

void semaphore::abandon(call_info& call, slot& notes, const outcome&, bool,
                        env& e) {
  if (!give_up_wait(call, notes, e)) {
    // Also right for a call that was granted its permits and has not gone down
    // yet: the permits are its own from the grant on.
    count(counter::abandoned);
    give_back(call, notes.as<call_state>(), e.now);
  }
  serve(e);
}

void semaphore::lent_to(const waiter&, env&) {
  CAISSON_ENSURE(in_use() <= config_.permits, "{} of {} permits in use",
                 in_use(), config_.permits);
}

// -- operation ----------------------------------------------------------------

void semaphore::adapt(env& e) {
  adapt_queue(e);
  CAISSON_ENSURE(permits_.next(free()) == detail::partitioned_limit::none,
                 "{} calls wait while {} permits are free", permits_.waiting(),
                 free());
}

void semaphore::list_gauges(std::vector<metric>& out) const {
  out.push_back({"permits", config_.permits, true});
  list_queue(out);
  waits_.list(out);
}

void semaphore::forget(env& e) {
  waits_.clear();
  forget_queue(e);
}

} // namespace caisson
