#include <caisson/adapters/detail/queued_worker.hpp>

#include <algorithm>

namespace caisson::detail {

caf::message failed_with(transport_errc code, std::string text) {
  return caf::make_message(make_error(code, std::move(text)));
}

queued_worker::queued_worker(caf::actor_config& cfg, const limits& x)
  : portable::interceptor<cancelled>(cfg),
    plan_(x.places, x.max_waiting, x.idle_timeout), max_time_(x.max_time) {}

void queued_worker::on_exit() {
  end_waiting();
  for (const auto& [n, x] : jobs_)
    if (auto place = plan_.thread_of(n))
      interrupt(n, *place);
  for (auto& [n, x] : jobs_)
    if (!x.cancelled)
      x.from.answer(this,
                    failed_with(transport_errc::lost, "the worker ended"));
  jobs_.clear();
  numbers_.clear();
  for (std::size_t i = 0; i < used_; ++i)
    end_place(i);
  portable::interceptor<cancelled>::on_exit();
}

// -- messages -----------------------------------------------------------------

caf::message_handler queued_worker::control() {
  return {[this](const cancelled& x) {
    auto i = numbers_.find({portable::identity_of(current_sender()), x.number});
    if (i != numbers_.end())
      cancel(i->second);
  }};
}

void queued_worker::on_message(portable::reply_to from,
                               caf::message&& content) {
  call envelope;
  if (portable::holds<call>(content))
    envelope = portable::take<call>(content);
  else
    envelope.payload = std::move(content);
  auto now = clock().now();
  auto until = due(envelope.options, now);
  auto n = ending_ ? std::nullopt : plan_.add(until);
  if (!n)
    return from.answer(this, failed_with(ending_ ? transport_errc::stopped
                                                 : transport_errc::busy));
  envelope.options.deadline_ns = until.time_since_epoch().count();
  if (from.expects_reply())
    numbers_.emplace(key_of(from), *n);
  jobs_.emplace(*n, held{std::move(from), std::move(envelope)});
  go_on();
}

void queued_worker::on_answer(std::uint64_t key, caf::message&& content) {
  auto i = jobs_.find(key);
  auto place = plan_.thread_of(key);
  if (i == jobs_.end() || !plan_.finish(key, clock().now()))
    return;
  auto x = finish(*place, std::move(content));
  answer(i, std::move(x.answer));
  ending_ = ending_ || x.ends;
  go_on();
}

void queued_worker::on_timer() {
  if (leaving_)
    quit(make_error(transport_errc::not_connected));
  else
    go_on();
}

time_point queued_worker::due(const call_options& o, time_point now) const {
  auto until = time_after(now, max_time_);
  if (o.time_left != duration::zero())
    until = std::min(until, time_after(now, o.time_left));
  if (o.deadline_ns != 0)
    until = std::min(until, time_point{duration{o.deadline_ns}});
  return until;
}

// -- jobs ---------------------------------------------------------------------

// Whatever has happened: does all that is due.
void queued_worker::go_on() {
  auto now = clock().now();
  while (auto n = plan_.overdue(now))
    refuse(*n, transport_errc::busy);
  if (ending_) {
    end_waiting();
    // What is in the mailbox by now is still answered: of what bounces,
    // nobody knows whether it was done.
    leaving_ = plan_.running() == 0;
    return set_timer(leaving_ ? now : never);
  }
  while (auto x = plan_.next())
    start(*x);
  while (auto x = plan_.idle(now))
    end_place(*x);
  set_timer(plan_.wakes_at());
}

void queued_worker::start(const pool_plan::start& x) {
  used_ = std::max(used_, x.thread + 1);
  if (begin(x.what, x.thread, jobs_.at(x.what).what))
    return;
  plan_.finish(x.what, clock().now());
  refuse(x.what, transport_errc::busy);
}

void queued_worker::cancel(job n) {
  auto i = jobs_.find(n);
  if (plan_.drop(n)) {
    numbers_.erase(key_of(i->second.from));
    jobs_.erase(i);
    return set_timer(plan_.wakes_at());
  }
  i->second.cancelled = true;
  if (auto place = plan_.thread_of(n))
    interrupt(n, *place);
}

void queued_worker::end_waiting() {
  while (auto n = plan_.drop_first())
    refuse(*n, transport_errc::stopped);
}

void queued_worker::refuse(job n, transport_errc why) {
  if (auto i = jobs_.find(n); i != jobs_.end())
    answer(i, failed_with(why));
}

void queued_worker::answer(held_jobs::iterator i, caf::message content) {
  auto from = std::move(i->second.from);
  auto is_awaited = !i->second.cancelled;
  numbers_.erase(key_of(from));
  jobs_.erase(i);
  if (is_awaited)
    from.answer(this, std::move(content));
}

} // namespace caisson::detail
