#include <caisson/gate/request.hpp>

#include <algorithm>
#include <mutex>

namespace caisson::detail {

namespace {

/// The number of the only request that an address sends.
constexpr std::uint64_t only_number = 1;

/// The sender of one request: takes its answer, or the end of its time.
class request_address final : public portable::relay {
public:
  using handler = std::function<void(caf::message&&)>;

  request_address(caf::actor_config& cfg, handler done)
    : portable::relay(cfg), done_(std::move(done)) {}

  /// To be called before it can be answered.
  void set_timer(portable::relay_timer x) { timer_ = std::move(x); }

protected:
  bool receive(caf::mailbox_element_ptr what, portable::run_context*) override {
    if (is_from_timer(*what)) {
      finish(
        failure(errc::deadline_exceeded, "the gate has not answered in time"));
      return true;
    }
    if (!what->mid.is_response()
        || what->mid.request_id().integer_value() != only_number)
      return drop(*what);
    if (finish(content_of(*what)))
      timer_.cancel();
    return true;
  }

  // Nobody can answer any more.
  void on_gone() override {
    finish(failure(errc::worker_down, "the gate has dropped the request"));
  }

private:
  static caf::message failure(errc code, std::string text) {
    return caf::make_message(
      make_error(code, rejection{{}, duration::zero(), true, std::move(text)}));
  }

  // Returns whether this is the end of the request.
  bool finish(caf::message&& content) {
    handler done;
    {
      std::lock_guard guard{mutex_};
      done.swap(done_);
    }
    if (done)
      done(std::move(content));
    return done != nullptr;
  }

  std::mutex mutex_;
  handler done_;
  portable::relay_timer timer_;
};

} // namespace

void request_from_thread(caf::actor_system& sys, const caf::actor& gate,
                         duration timeout, call content,
                         std::function<void(caf::message&&)> done) {
  if (timeout != unlimited) {
    auto& left = content.options.time_left;
    if (left == duration::zero() || left > timeout)
      left = timeout > duration::zero() ? timeout : no_time_left;
  }
  auto address = portable::make_relay<request_address>(sys, sys.next_actor_id(),
                                                       std::move(done));
  if (timeout != unlimited)
    static_cast<request_address*>(address->get())
      ->set_timer(
        {sys, address,
         time_after(time_after(sys.clock().now(), timeout), answer_grace)});
  portable::relay::send_on(gate, address,
                           caf::message_id{only_number}.with_normal_priority(),
                           caf::make_message(std::move(content)), nullptr);
}

call_end failed_call(const caf::message& answer) {
  if (auto* err = portable::get_if<caf::error>(answer)) {
    auto o = outcome_of(answer);
    return {*err, o.may_have_executed, o.retry_after};
  }
  return {caf::make_error(caf::sec::unexpected_response, answer)};
}

} // namespace caisson::detail
