#include <caisson/gate/detail/worker_end.hpp>

#include <caisson/caf/exits.hpp>
#include <caisson/caf/hooks.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace caisson::detail {

namespace {

/// Kills an actor that has not ended in time. The clock keeps it alive until
/// then, and so does nobody else: no gate has to wait, and the actor system
/// waits for the worker alone.
class end_watch final : public portable::relay {
public:
  end_watch(caf::actor_config& cfg, const caf::actor& x)
    : portable::relay(cfg), worker_(caf::actor_cast<caf::actor_addr>(x)) {}

  // The worker may end meanwhile, in a thread of its own.
  void begin(const caf::strong_actor_ptr& helper, time_point at) {
    auto x = caf::actor_cast<caf::strong_actor_ptr>(worker_);
    if (!x)
      return;
    {
      std::lock_guard guard{mutex_};
      timer_ = {home_system(), helper, at, timer_number};
      runs_ = true;
    }
    watch(x);
  }

protected:
  bool receive(caf::mailbox_element_ptr what, portable::run_context*) override {
    if (is_from_timer(*what, timer_number)) {
      if (stops())
        if (auto x = caf::actor_cast<caf::actor>(worker_))
          portable::kill(x);
      return true;
    }
    if (!holds_one<caf::down_msg>(*what))
      return drop(*what);
    if (stops())
      timer_.cancel();
    return true;
  }

private:
  static constexpr std::uint64_t timer_number = 0;

  // Whether it still waited.
  bool stops() {
    std::lock_guard guard{mutex_};
    return std::exchange(runs_, false);
  }

  const caf::actor_addr worker_;
  std::mutex mutex_;
  portable::relay_timer timer_;
  bool runs_ = false;
};

} // namespace

actor_end end_of_actor(const caf::actor& x) {
  if (!x)
    return actor_end::abnormal;
  auto why = portable::exit_reason_of(x);
  if (!why)
    return actor_end::unknown;
  return portable::is_normal_exit(*why) ? actor_end::normal
                                        : actor_end::abnormal;
}

void end_worker(caf::actor_system& sys, const caf::actor& x,
                duration shutdown) {
  if (!x || portable::is_remote(sys, caf::actor_cast<caf::strong_actor_ptr>(x)))
    return;
  if (shutdown == duration::zero())
    return portable::kill(x);
  if (shutdown != unlimited && !portable::is_down(x)) {
    auto address = portable::make_relay<end_watch>(sys, sys.next_actor_id(), x);
    static_cast<end_watch*>(address->get())
      ->begin(address, time_after(sys.clock().now(), shutdown));
  }
  caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
}

} // namespace caisson::detail
