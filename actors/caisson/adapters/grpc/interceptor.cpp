#include <caisson/adapters/grpc/interceptor.hpp>
#include <caisson/adapters/grpc/messages.hpp>
#include <caisson/adapters/grpc/status.hpp>

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace caisson {

namespace {

namespace rpc = ::grpc::experimental;
using hook = rpc::InterceptionHookPoints;

// Negative: it is over.
duration time_left_of(gpr_timespec deadline) {
  auto at = gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
  if (gpr_time_cmp(at, gpr_inf_future(GPR_CLOCK_MONOTONIC)) == 0)
    return unlimited;
  auto left = gpr_time_sub(at, gpr_now(GPR_CLOCK_MONOTONIC));
  constexpr std::int64_t most = std::int64_t{1} << 32; // A century.
  if (left.tv_sec >= most)
    return unlimited;
  auto x = duration{std::chrono::seconds{left.tv_sec}}
           + std::chrono::nanoseconds{left.tv_nsec};
  return x > duration::zero() ? x : no_time_left;
}

// What the timer of a call and the call have in common. The context may be gone
// before its interceptors, so this holds the call itself.
struct cancel_link {
  explicit cancel_link(::grpc_call* x) : call(x) { grpc_call_ref(call); }
  ~cancel_link() { grpc_call_unref(call); }
  cancel_link(const cancel_link&) = delete;
  cancel_link& operator=(const cancel_link&) = delete;

  ::grpc_call* const call;
  std::mutex mutex = {};
  bool is_over = false;
  bool is_late = false;
};

class guarding_interceptor final : public rpc::Interceptor {
public:
  guarding_interceptor(std::shared_ptr<guard> by, rpc::ClientRpcInfo* info)
    : guard_(std::move(by)), context_(info->client_context()) {}

  ~guarding_interceptor() override { end_timer(); }

  guarding_interceptor(const guarding_interceptor&) = delete;
  guarding_interceptor& operator=(const guarding_interceptor&) = delete;

  void Intercept(rpc::InterceptorBatchMethods* x) override {
    // From any thread at any time, and from within the timer.
    if (x->QueryInterceptionHookPoint(hook::PRE_SEND_CANCEL))
      return x->Proceed();
    // Comes twice if an interceptor behind this one has hijacked the call.
    if (!has_begun_
        && x->QueryInterceptionHookPoint(hook::PRE_SEND_INITIAL_METADATA)) {
      begin();
      if (refused_)
        // Comes back with what was asked for together with that.
        return x->Hijack();
    }
    if (refused_)
      refuse(*x);
    else if (x->QueryInterceptionHookPoint(hook::POST_RECV_STATUS))
      end(*x);
    x->Proceed();
  }

private:
  void begin() {
    has_begun_ = true;
    admission_ = guard_->admit(
      {.time_left = time_left_of(context_->raw_deadline())});
    if (admission_)
      set_timer();
    else
      refused_ = grpc_status_of(admission_.error());
  }

  // Only for a deadline that gRPC does not know.
  void set_timer() {
    auto left = time_until(admission_.deadline(),
                           std::chrono::steady_clock::now());
    if (left == unlimited
        || time_left_of(context_->raw_deadline())
             <= left + std::chrono::milliseconds(1))
      return;
    link_ = std::make_shared<cancel_link>(context_->c_call());
    timer_.emplace();
    timer_->Set(std::chrono::system_clock::now()
                  + std::chrono::ceil<std::chrono::milliseconds>(left),
                [link = link_](bool is_due) {
                  std::lock_guard guard{link->mutex};
                  if (!is_due || link->is_over)
                    return;
                  link->is_late = true;
                  grpc_call_cancel(link->call, nullptr);
                });
  }

  // Returns whether it has gone off.
  bool end_timer() {
    if (!link_)
      return false;
    timer_.reset();
    std::lock_guard guard{link_->mutex};
    link_->is_over = true;
    return link_->is_late;
  }

  void end(rpc::InterceptorBatchMethods& x) {
    auto& status = *x.GetRecvStatus();
    if (end_timer() && status.error_code() == ::grpc::StatusCode::CANCELLED)
      status = {::grpc::StatusCode::DEADLINE_EXCEEDED,
                "a deadline of a guard has passed"};
    if (status.ok())
      return admission_.succeed();
    std::optional<std::string> pushback;
    if (auto* trailers = x.GetRecvTrailingMetadata()) {
      auto i = trailers->find(name_of_pushback());
      if (i != trailers->end())
        pushback.emplace(i->second.data(), i->second.size());
    }
    admission_.fail(status.error_message(), grpc_meaning_of(status, pushback));
  }

  void refuse(rpc::InterceptorBatchMethods& x) {
    if (x.QueryInterceptionHookPoint(hook::PRE_SEND_MESSAGE))
      x.FailHijackedSendMessage();
    if (x.QueryInterceptionHookPoint(hook::PRE_RECV_MESSAGE))
      x.FailHijackedRecvMessage();
    if (!x.QueryInterceptionHookPoint(hook::PRE_RECV_STATUS))
      return;
    *x.GetRecvStatus() = *refused_;
    if (auto after = grpc_pushback_of(admission_.retry_after())) {
      // As long as the context, as trailers are views.
      pushback_ = *after;
      if (auto* trailers = x.GetRecvTrailingMetadata())
        trailers->emplace(name_of_pushback(), ::grpc::string_ref{pushback_});
    }
  }

  static ::grpc::string_ref name_of_pushback() {
    return {grpc_pushback_trailer.data(), grpc_pushback_trailer.size()};
  }

  const std::shared_ptr<guard> guard_;
  ::grpc::ClientContext* const context_;
  admission admission_;
  bool has_begun_ = false;
  std::optional<::grpc::Status> refused_;
  std::string pushback_;
  std::shared_ptr<cancel_link> link_;
  std::optional<::grpc::Alarm> timer_;
};

class guarding_factory final : public rpc::ClientInterceptorFactoryInterface {
public:
  explicit guarding_factory(std::shared_ptr<guard> by)
    : guard_(std::move(by)) {}

  rpc::Interceptor* CreateClientInterceptor(rpc::ClientRpcInfo* x) override {
    return new guarding_interceptor{guard_, x};
  }

private:
  const std::shared_ptr<guard> guard_;
};

} // namespace

std::unique_ptr<rpc::ClientInterceptorFactoryInterface>
grpc_interceptor(std::shared_ptr<guard> by) {
  if (!by)
    throw std::invalid_argument{"an interceptor for gRPC needs a guard"};
  return std::make_unique<guarding_factory>(std::move(by));
}

} // namespace caisson
