#include <caisson/gate/request.hpp>

#include <caisson/base/entropy.hpp>
#include <caisson/base/random.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/engine/error_replies.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/gate/detail/factory.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace caisson::detail {

namespace {

// The number of a request, which nobody else can guess. Never 0.
std::uint64_t next_number() {
  constexpr auto bits = (std::uint64_t{1} << 59) - 1;
  static const auto secret = entropy_bits();
  static std::atomic<std::uint64_t> last{0};
  return std::max<std::uint64_t>(mix_seed(secret ^ mix_seed(++last)) & bits, 1);
}

caf::message failure(errc code, bool may_have_executed, std::string text) {
  return caf::make_message(make_error(
    code, rejection{{}, duration::zero(), may_have_executed, std::move(text)}));
}

/// The sender of one request: takes its answer, or the end of its time.
class request_address final : public portable::relay {
public:
  using handler = std::function<void(caf::message&&)>;

  request_address(caf::actor_config& cfg, const caf::actor& gate, handler done)
    : portable::relay(cfg), to_(caf::actor_cast<caf::weak_actor_ptr>(gate)),
      done_(std::move(done)) {}

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  // To be called before it can be answered.

  void set_timer(const portable::relay_timer& x) { timer_ = x; }

  /// What is remote is a gate, as far as anybody here knows.
  void set_is_gate(bool x) { is_gate_ = x; }

  /// CAF's network keeps each sender until that says that it is down, and so
  /// this address must not end before. If the gate or its node ends, so does
  /// the request.
  void keep(caf::strong_actor_ptr caller, const caf::strong_actor_ptr& gate) {
    caller_ = std::move(caller);
    gate_ = gate;
    watch(gate);
  }

  bool cancel() {
    if (!end(true))
      return false;
    // Others than gates would not understand it.
    auto gate = caf::actor_cast<caf::actor>(
      caf::actor_cast<caf::strong_actor_ptr>(to_));
    if (gate && is_gate_)
      send_on(gate, ctrl(), caf::make_message_id(),
              caf::make_message(cancelled{number_}), nullptr);
    close();
    return true;
  }

protected:
  bool receive(caf::mailbox_element_ptr what, portable::run_context*) override {
    if (what->mid.is_response()
        && what->mid.request_id().integer_value() == number_) {
      auto content = content_of(*what);
      // An actor may pass on what a gate has said of another call.
      if (!is_gate_)
        mark_executed(content);
      return finish(std::move(content), true);
    }
    if (is_from_timer(*what, number_))
      return finish(failure(errc::deadline_exceeded, true,
                            "the gate has not answered in time"),
                    false);
    if (holds_one<caf::down_msg>(*what)
        && what->content().get_as<caf::down_msg>(0).source == gate_)
      return finish(failure(errc::worker_down, true, "the gate is gone"), true);
    return drop(*what);
  }

  // Nobody can answer any more.
  void on_gone() override {
    finish(failure(errc::worker_down, true, "the gate has dropped the request"),
           false);
  }

private:
  // Always true: the message was taken.
  bool finish(caf::message&& content, bool timer_runs) {
    if (auto done = end(timer_runs)) {
      done(std::move(content));
      close();
    }
    return true;
  }

  // Returns what was to be called; nothing if the request is over already.
  handler end(bool timer_runs) {
    handler done;
    caf::strong_actor_ptr caller;
    {
      std::lock_guard guard{mutex_};
      done.swap(done_);
      caller.swap(caller_);
    }
    if (done && timer_runs)
      timer_.cancel();
    if (caller)
      unwatch(gate_);
    return done;
  }

  const std::uint64_t number_ = next_number();
  const caf::weak_actor_ptr to_;
  bool is_gate_ = false;
  std::mutex mutex_;
  handler done_;
  caf::strong_actor_ptr caller_;
  caf::strong_actor_ptr gate_;
  portable::relay_timer timer_;
};

// The least of the limits that the call has, from now on.
duration time_left(const call_options& o, time_point now) {
  auto left = o.time_left == duration::zero() ? unlimited : o.time_left;
  if (o.deadline_ns != 0)
    left = std::min(left, time_until(time_point{duration{o.deadline_ns}}, now));
  return std::max(left, duration::zero());
}

} // namespace

bool sent_request::cancel() {
  auto address = caf::actor_cast<caf::strong_actor_ptr>(address_);
  return address && static_cast<request_address*>(address->get())->cancel();
}

sent_request request_from_thread(caf::actor_system& sys, const caf::actor& gate,
                                 duration timeout, call content,
                                 std::function<void(caf::message&&)> done) {
  if (!gate) {
    done(failure(errc::worker_down, false, "the handle of the gate is null"));
    return {};
  }
  if (timeout != unlimited) {
    auto& left = content.options.time_left;
    if (left == duration::zero() || left > timeout)
      left = timeout > duration::zero() ? timeout : no_time_left;
  }
  auto address = portable::make_relay<request_address>(sys, sys.next_actor_id(),
                                                       gate, std::move(done));
  auto& sender = *static_cast<request_address*>(address->get());
  const auto number = sender.number();
  auto now = sys.clock().now();
  if (auto left = time_left(content.options, now); left != unlimited)
    sender.set_timer(
      {sys, address, time_after(time_after(now, left), answer_grace), number});
  auto to = caf::actor_cast<caf::strong_actor_ptr>(gate);
  const auto remote = portable::is_remote(sys, to);
  sender.set_is_gate(remote || is_local_gate(gate));
  if (remote)
    sender.keep(address, to);
  portable::relay::send_on(gate, address,
                           caf::message_id{number}.with_normal_priority(),
                           caf::make_message(std::move(content)), nullptr);
  return sent_request{caf::actor_cast<caf::weak_actor_ptr>(address)};
}

caf::message cancelled_answer() {
  return failure(errc::cancelled, true, "the request was taken back");
}

call_end failed_call(const caf::message& answer) {
  if (auto* err = portable::get_if<caf::error>(answer))
    return {*err, caisson::may_have_executed(*err),
            outcome_of(answer).retry_after};
  return {caf::make_error(caf::sec::unexpected_response, answer)};
}

} // namespace caisson::detail
