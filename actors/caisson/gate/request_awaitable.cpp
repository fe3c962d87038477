#include <caisson/gate/request_awaitable.hpp>

#include <stdexcept>

namespace caisson::detail {

void awaited_answer::send(const caf::actor& gate, duration timeout,
                          call&& content, std::coroutine_handle<> waiter) {
  if (waiter_)
    throw std::logic_error{"a request can be awaited only once"};
  waiter_ = waiter;
  auto self = shared_from_this();
  auto sent = request_from_thread(
    system_, gate, timeout, std::move(content),
    [self](caf::message&& x) { self->on_answer(std::move(x)); });
  // The coroutine may have gone on already, or been destroyed.
  {
    std::lock_guard guard{mutex_};
    if (!dropped_) {
      request_ = std::move(sent);
      return;
    }
  }
  sent.cancel();
}

void awaited_answer::drop() {
  sent_request sent;
  {
    std::lock_guard guard{mutex_};
    dropped_ = true;
    std::swap(sent, request_);
  }
  sent.cancel();
}

// In the thread that the answer comes from: that of the gate, of a clock, or of
// the network, and the coroutine does not belong there. An actor of its own
// keeps the system from ending until the coroutine waits again.
void awaited_answer::on_answer(caf::message&& x) {
  {
    std::lock_guard guard{mutex_};
    if (dropped_)
      return;
    answer_ = std::move(x);
  }
  auto go = [self = shared_from_this()] { self->go_on(); };
  if (resume_)
    resume_(std::move(go));
  else
    system_.spawn(std::move(go));
}

void awaited_answer::go_on() {
  {
    std::lock_guard guard{mutex_};
    if (dropped_)
      return;
  }
  waiter_.resume();
}

} // namespace caisson::detail
