#include <caisson/adapters/blocking_pool.hpp>

#include <caisson/adapters/detail/pool_plan.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson {

namespace {

// -- a thread -----------------------------------------------------------------

caf::message failed(transport_errc code, std::string text = {}) {
  return caf::make_message(make_error(code, std::move(text)));
}

blocking_session::result run_safely(blocking_session& session,
                                    const blocking_session::job& x) {
  try {
    return session.run(x);
  } catch (const std::exception& e) {
    session.reset();
    return {failed(transport_errc::lost, e.what())};
  } catch (...) {
    session.reset();
    return {failed(transport_errc::lost, "the client threw")};
  }
}

// Takes the number of a job and a `call` whose deadline is when it must be
// done, and answers with whether the server is reachable, and with the answer.
class pool_thread final : public portable::interceptor<cancelled> {
public:
  pool_thread(caf::actor_config& cfg, std::shared_ptr<blocking_session> session)
    : portable::interceptor<cancelled>(cfg), session_(std::move(session)) {}

  const char* name() const override { return "caisson.pool_thread"; }

  void on_exit() override {
    session_->reset();
    portable::interceptor<cancelled>::on_exit();
  }

protected:
  caf::message_handler control() override {
    return {[](const cancelled&) {}};
  }

  void on_message(portable::reply_to from, caf::message&& content) override {
    if (!content.match_elements<std::uint64_t, call>())
      return;
    const auto& envelope = content.get_as<call>(1);
    session_->signal().begin(content.get_as<std::uint64_t>(0));
    auto x = run_safely(*session_,
                        {envelope.payload, envelope.options,
                         time_point{duration{envelope.options.deadline_ns}}});
    from.answer(this, caf::make_message(x.reachable, std::move(x.answer)));
  }

  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  std::shared_ptr<blocking_session> session_;
};

// -- the pool -----------------------------------------------------------------

class pool_actor final : public portable::interceptor<cancelled> {
public:
  using job = detail::pool_plan::job;

  pool_actor(caf::actor_config& cfg, blocking_worker_kind kind,
             const blocking_pool_config& c,
             std::shared_ptr<blocking_session> first)
    : portable::interceptor<cancelled>(cfg), kind_(std::move(kind)), config_(c),
      plan_(c.threads, c.max_waiting, c.idle_timeout),
      first_(std::move(first)) {}

  const char* name() const override { return kind_.name.c_str(); }

  void on_exit() override {
    end_waiting();
    for (const auto& [n, x] : jobs_)
      interrupt(n);
    for (auto& [n, x] : jobs_)
      if (!x.cancelled)
        x.from.answer(this, failed(transport_errc::lost, "the worker ended"));
    jobs_.clear();
    numbers_.clear();
    for (std::size_t i = 0; i < threads_.size(); ++i)
      end_thread(i);
    threads_.clear();
    portable::interceptor<cancelled>::on_exit();
  }

protected:
  caf::message_handler control() override {
    return {[this](const cancelled& x) {
      auto i = numbers_.find(
        {portable::identity_of(current_sender()), x.number});
      if (i != numbers_.end())
        cancel(i->second);
    }};
  }

  void on_message(portable::reply_to from, caf::message&& content) override {
    call envelope;
    if (portable::holds<call>(content))
      envelope = portable::take<call>(content);
    else
      envelope.payload = std::move(content);
    auto now = clock().now();
    auto until = due(envelope.options, now);
    auto n = ending_ ? std::nullopt : plan_.add(until);
    if (!n)
      return from.answer(
        this, failed(ending_ ? transport_errc::stopped : transport_errc::busy));
    envelope.options.deadline_ns = until.time_since_epoch().count();
    if (from.expects_reply())
      numbers_.emplace(key_of(from), *n);
    jobs_.emplace(*n, held{std::move(from), std::move(envelope)});
    go_on();
  }

  void on_answer(std::uint64_t key, caf::message&& content) override {
    auto i = jobs_.find(key);
    auto thread_used = plan_.thread_of(key);
    if (i == jobs_.end() || !plan_.finish(key, clock().now()))
      return;
    auto reachable = true;
    auto answer = failed(transport_errc::lost, "the thread ended");
    if (content.match_elements<bool, caf::message>()) {
      reachable = content.get_as<bool>(0);
      answer = content.get_as<caf::message>(1);
    } else {
      // The next job gets another one.
      threads_[*thread_used] = {};
    }
    finish(i, std::move(answer));
    ending_ = ending_ || (!reachable && kind_.ends_if_unreachable);
    go_on();
  }

  void on_timer() override {
    if (leaving_)
      quit(make_error(transport_errc::not_connected));
    else
      go_on();
  }

  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  struct held {
    portable::reply_to from;
    call what;
    bool cancelled = false;
  };

  struct thread {
    caf::actor handle;
    std::shared_ptr<blocking_session> session;
  };

  // Who has sent it, and the number among the sender's messages.
  using number = std::pair<const void*, std::uint64_t>;
  using held_jobs = std::unordered_map<job, held>;

  static number key_of(const portable::reply_to& x) {
    return {portable::identity_of(x.sender()), x.number()};
  }

  [[nodiscard]] time_point due(const call_options& o, time_point now) const {
    auto until = time_after(now, config_.max_time);
    if (o.time_left != duration::zero())
      until = std::min(until, time_after(now, o.time_left));
    if (o.deadline_ns != 0)
      until = std::min(until, time_point{duration{o.deadline_ns}});
    return until;
  }

  // Whatever has happened: does all that is due.
  void go_on() {
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
      begin(*x);
    while (auto x = plan_.idle(now))
      end_thread(*x);
    set_timer(plan_.wakes_at());
  }

  void begin(const detail::pool_plan::start& x) {
    if (!has_thread(x.thread)) {
      plan_.finish(x.what, clock().now());
      return refuse(x.what, transport_errc::busy);
    }
    // A copy would be one of the whole message; nothing else needs it.
    auto& what = jobs_.at(x.what).what;
    forward(threads_[x.thread].handle, x.what,
            caf::make_message(std::uint64_t{x.what}, std::move(what)), false);
  }

  // Makes the thread if need be; the system may have no further one, or no file
  // descriptor.
  bool has_thread(std::size_t i) {
    if (i >= threads_.size())
      threads_.resize(i + 1);
    auto& x = threads_[i];
    if (x.handle)
      return true;
    try {
      x.session = first_ ? first_ : std::shared_ptr{kind_.make()};
      x.handle = caf::actor_cast<caf::actor>(
        system().spawn<pool_thread, caf::detached>(x.session));
      first_ = nullptr;
      return true;
    } catch (...) {
      return false;
    }
  }

  void end_thread(std::size_t i) {
    if (auto x = std::exchange(threads_[i], {}); x.handle)
      caf::anon_send_exit(x.handle, caf::exit_reason::user_shutdown);
  }

  void cancel(job n) {
    auto i = jobs_.find(n);
    if (plan_.drop(n)) {
      forget(i);
      return set_timer(plan_.wakes_at());
    }
    i->second.cancelled = true;
    interrupt(n);
  }

  void interrupt(job n) {
    if (auto t = plan_.thread_of(n))
      threads_[*t].session->signal().interrupt(n);
  }

  void end_waiting() {
    while (auto n = plan_.drop_first())
      refuse(*n, transport_errc::stopped);
  }

  void refuse(job n, transport_errc why) {
    if (auto i = jobs_.find(n); i != jobs_.end())
      finish(i, failed(why));
  }

  void finish(held_jobs::iterator i, caf::message answer) {
    auto from = std::move(i->second.from);
    auto wanted = !i->second.cancelled;
    numbers_.erase(key_of(from));
    jobs_.erase(i);
    if (wanted)
      from.answer(this, std::move(answer));
  }

  void forget(held_jobs::iterator i) {
    numbers_.erase(key_of(i->second.from));
    jobs_.erase(i);
  }

  blocking_worker_kind kind_;
  blocking_pool_config config_;
  detail::pool_plan plan_;
  std::shared_ptr<blocking_session> first_;
  std::vector<thread> threads_;
  held_jobs jobs_;
  std::map<number, job> numbers_;
  bool ending_ = false;
  bool leaving_ = false;
};

} // namespace

// -- what is public -----------------------------------------------------------

void describe(field_visitor& v, blocking_pool_config& c) {
  describe_blocking_pool(v, c);
}

caf::actor spawn_blocking_pool(caf::actor_system& sys,
                               const blocking_worker_kind& kind,
                               const blocking_pool_config& c) {
  require_valid(c);
  std::shared_ptr<blocking_session> first;
  if (kind.first)
    first = kind.first();
  return caf::actor_cast<caf::actor>(
    sys.spawn<pool_actor>(kind, c, std::move(first)));
}

supervision_config patient_supervision() {
  supervision_config s;
  s.restart = schedule::exponential(std::chrono::milliseconds(50))
                .limit(std::chrono::seconds(2));
  // At most 20 are possible in a second.
  s.max_restarts = 1'000;
  s.period = std::chrono::seconds(1);
  s.stable_after = std::chrono::seconds(1);
  s.on_give_up = give_up_action::refuse;
  return s;
}

worker blocking_worker(const blocking_worker_kind& kind,
                       const blocking_pool_config& c, supervision_config s) {
  require_valid(c);
  auto make = [kind, c](caf::actor_system& sys) -> caf::expected<caf::actor> {
    return spawn_blocking_pool(sys, kind, c);
  };
  auto w = worker::supervised(make, std::move(s))
             .takes_calls()
             .takes_cancelled();
  // These change it in place.
  // NOLINTBEGIN(bugprone-use-after-move)
  if (kind.adapter)
    std::move(w).classified_by(kind.adapter);
  std::move(w).classified_by(transport_answer);
  if (kind.first)
    std::move(w).on_own_thread();
  return w;
  // NOLINTEND(bugprone-use-after-move)
}

} // namespace caisson
