#include <caisson/gate/detail/guard/async_call.hpp>

#include <caisson/gate/detail/guard/guard_host.hpp>
#include <caisson/gate/detail/guard/guard_visit.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

// Passes what the engine says on to the guard of the call.
class async_caller final : public guard_caller {
public:
  async_caller(async_call& call, const std::shared_ptr<guard_link>& link)
    : call_(call), link_(link) {}

  void on_next() override { link_->guard.async.attend(call_); }
  void on_abandoned() override { link_->guard.async.abandon_attempt(call_); }
  void on_answer() override { link_->guard.async.finish(call_); }

private:
  async_call& call_;
  // That of the call, which has one once it has begun.
  const std::shared_ptr<guard_link>& link_;
};

} // namespace

// -- attempts -----------------------------------------------------------------

async_attempt::~async_attempt() {
  if (ended_)
    return;
  call_->on_attempt_gone();
  end({std::make_exception_ptr(std::runtime_error{"the attempt is gone"}),
       "the attempt is gone",
       {}},
      false);
}

void async_attempt::on_abandoned(std::function<void()> f) {
  if (call_->link_->is_stepping()) {
    if (!state_->abandoned)
      return state_->on_abandoned.swap(f);
    return f();
  }
  guard_visit in{*call_->link_};
  if (in.calls() && !state_->abandoned)
    state_->on_abandoned = std::move(f);
  else
    f();
}

void async_attempt::end(attempt_result x, bool in_loop) {
  // What is dropped is destroyed after the visit, without the mutex.
  auto state = state_;
  std::function<void()> unused;
  ended_ = true;
  if (call_->link_->is_stepping()) {
    unused.swap(state_->on_abandoned);
    return call_->link_->guard.async.defer_end(call_, std::move(state),
                                               std::move(x), std::move(unused));
  }
  guard_visit in{*call_->link_};
  unused.swap(state_->on_abandoned);
  if (in.calls())
    in.calls()->end_attempt(in.lock(), *call_, state, x, in_loop);
}

// -- calls --------------------------------------------------------------------

async_call::async_call(std::shared_ptr<event_loop> loop)
  : loop_(std::move(loop)),
    caller_(std::make_unique<async_caller>(*this, link_)) {}

async_call::~async_call() = default;

void async_call::begin(guard_host& host, call_options* options) {
  host.begin(*this, options);
}

void async_call::cancel() {
  if (!link_)
    return;
  if (link_->is_stepping())
    return link_->guard.async.defer_cancel(shared_from_this());
  guard_visit in{*link_};
  if (in.calls())
    in.calls()->cancel(in.lock(), *this);
}

void async_call::drop() {
  if (!link_)
    return;
  if (link_->is_stepping()) {
    dropped_ = true;
    return cancel();
  }
  guard_visit in{*link_};
  if (!in.calls())
    return;
  dropped_ = true;
  in.calls()->cancel(in.lock(), *this);
}

void async_call::post(std::function<void()> f) {
  loop_->post(std::move(f));
}

void async_call::carry_on() {
  guard_visit in{*link_};
  if (in.calls())
    in.calls()->carry_on(in.lock(), *this);
}

} // namespace caisson::detail
