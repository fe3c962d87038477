#include <caisson/adapters/blocking_pool.hpp>

#include <caisson/adapters/detail/queued_worker.hpp>

#include <exception>
#include <utility>
#include <vector>

namespace caisson {

namespace {

// -- a thread -----------------------------------------------------------------

using detail::failed_with;

blocking_session::result run_safely(blocking_session& session,
                                    const blocking_session::job& x) {
  try {
    return session.run(x);
  } catch (const std::exception& e) {
    session.reset();
    return {failed_with(transport_errc::lost, e.what())};
  } catch (...) {
    session.reset();
    return {failed_with(transport_errc::lost, "the client threw")};
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

class pool_actor final : public detail::queued_worker {
public:
  pool_actor(caf::actor_config& cfg, blocking_worker_kind kind,
             const blocking_pool_config& c,
             std::shared_ptr<blocking_session> first)
    : detail::queued_worker(cfg, {.places = c.threads,
                                  .max_waiting = c.max_waiting,
                                  .max_time = c.max_time,
                                  .idle_timeout = c.idle_timeout}),
      kind_(std::move(kind)), first_(std::move(first)) {}

  const char* name() const override { return kind_.name.c_str(); }

protected:
  bool begin(job n, std::size_t place, call& what) override {
    if (!has_thread(place))
      return false;
    // A copy would be one of the whole message; nothing else needs it.
    forward(threads_[place].handle, n,
            caf::make_message(std::uint64_t{n}, std::move(what)), false);
    return true;
  }

  result finish(std::size_t place, caf::message&& content) override {
    if (content.match_elements<bool, caf::message>())
      return {content.get_as<caf::message>(1),
              !content.get_as<bool>(0) && kind_.ends_if_unreachable};
    // The next job gets another one.
    threads_[place] = {};
    return {failed_with(transport_errc::lost, "the thread ended")};
  }

  void interrupt(job n, std::size_t place) override {
    threads_[place].session->signal().interrupt(n);
  }

  void end_place(std::size_t place) override {
    if (place >= threads_.size())
      return;
    if (auto x = std::exchange(threads_[place], {}); x.handle)
      caf::anon_send_exit(x.handle, caf::exit_reason::user_shutdown);
  }

private:
  struct thread {
    caf::actor handle;
    std::shared_ptr<blocking_session> session;
  };

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
      if (!x.session)
        return false;
      x.handle = caf::actor_cast<caf::actor>(
        system().spawn<pool_thread, caf::detached>(x.session));
      first_ = nullptr;
      return true;
    } catch (...) {
      return false;
    }
  }

  blocking_worker_kind kind_;
  std::shared_ptr<blocking_session> first_;
  std::vector<thread> threads_;
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
