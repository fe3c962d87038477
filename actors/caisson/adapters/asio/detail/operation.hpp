// Operations of Asio that something outside of Asio completes.
#pragma once

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/system_executor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace caisson::detail {

/// An operation whose handler waits, by itself and in the list of its context.
class asio_operation {
public:
  asio_operation() = default;
  virtual ~asio_operation() = default;
  asio_operation(const asio_operation&) = delete;
  asio_operation& operator=(const asio_operation&) = delete;

  /// The context ends: destroys the handler, and cancels what it waits for.
  virtual void abandon() = 0;
};

/// The operations of a context that are not complete. Whoever takes one off the
/// list completes it. While the mutex is held, a context whose list is not
/// closed does not end.
struct asio_operations {
  std::mutex mutex = {};
  bool closed = false;
  std::unordered_map<asio_operation*, std::weak_ptr<asio_operation>> all = {};
};

/// Keeps that list for a context, and ends its operations when that ends: a
/// handler must not live longer, nor be posted to a context that is gone.
class asio_operation_service final : public asio::execution_context::service {
public:
  using key_type = asio_operation_service;
  static inline asio::execution_context::id id;

  explicit asio_operation_service(asio::execution_context& x)
    : service(x), operations_(std::make_shared<asio_operations>()) {}
  // It gets no `shutdown` if it is made while its context ends.
  ~asio_operation_service() override { close(); }

  [[nodiscard]] const std::shared_ptr<asio_operations>& operations() const {
    return operations_;
  }

private:
  void shutdown() override { close(); }

  void close() {
    decltype(operations_->all) all;
    {
      std::lock_guard lock{operations_->mutex};
      operations_->closed = true;
      all.swap(operations_->all);
    }
    for (auto& [_, x] : all)
      if (auto operation = x.lock())
        operation->abandon();
  }

  const std::shared_ptr<asio_operations> operations_;
};

/// Executors that have no context, such as that of `use_future`, live as long
/// as the program.
template <class Executor>
asio::execution_context& context_of(const Executor& x) {
  if constexpr (asio::can_query_v<const Executor&, asio::execution::context_t>)
    return asio::query(x, asio::execution::context);
  else
    return asio::query(asio::system_executor{}, asio::execution::context);
}

template <class Executor>
const std::shared_ptr<asio_operations>& operations_of(const Executor& x) {
  return asio::use_service<asio_operation_service>(context_of(x)).operations();
}

/// An operation that completes with `Result`, on the executor of its handler,
/// which has work until then.
template <class Handler, class Result>
class asio_result_operation final : public asio_operation,
                                    public std::enable_shared_from_this<
                                      asio_result_operation<Handler, Result>> {
public:
  using executor_type = asio::associated_executor_t<Handler>;

  explicit asio_result_operation(Handler&& handler)
    : executor_(asio::get_associated_executor(handler)),
      work_(std::in_place, *executor_), operations_(operations_of(*executor_)),
      handler_(std::move(handler)) {}

  /// @pre it is not complete, and its context has not ended
  [[nodiscard]] const executor_type& executor() const { return *executor_; }

  /// To be called once, before the operation begins. Any thread may be in
  /// `cancel` at any time from then on.
  void enlist() {
    {
      std::lock_guard lock{operations_->mutex};
      if (!operations_->closed) {
        operations_->all.emplace(this, this->weak_from_this());
        return;
      }
    }
    abandon();
  }

  /// The operation has begun: from now on, the handler's cancellation slot and
  /// the end of the context call `cancel`.
  void on_cancelled(std::function<void()> cancel) {
    std::unique_lock lock{operations_->mutex};
    if (operations_->all.contains(this)) {
      cancel_ = cancel;
      if (!cancelled_)
        return;
    } else if (!operations_->closed) {
      return; // It is complete.
    }
    lock.unlock();
    cancel();
  }

  /// In the thread that starts the operation, before it begins.
  void listen_to_slot() {
    auto slot = asio::get_associated_cancellation_slot(*handler_);
    if (!slot.is_connected())
      return;
    slot.assign([self = this->weak_from_this()](asio::cancellation_type x) {
      if (auto operation = self.lock(); operation && !!x)
        operation->cancel();
    });
  }

  /// Completes the operation with what `make` returns, unless it is complete.
  /// By any thread; nothing of the user's runs within this function.
  template <class Make>
  bool complete(Make make) {
    std::function<void()> unused;
    {
      std::lock_guard lock{operations_->mutex};
      if (operations_->all.erase(this) == 0)
        return false;
      unused.swap(cancel_);
      // Under the mutex, as the context must not end before.
      post(std::move(*handler_), std::move(make));
      handler_.reset();
      work_.reset();
      executor_.reset();
    }
    return true;
  }

  void abandon() override {
    std::function<void()> cancel;
    std::optional<Handler> handler;
    {
      std::lock_guard lock{operations_->mutex};
      cancel.swap(cancel_);
      if (handler_)
        handler.emplace(std::move(*handler_));
      handler_.reset();
      work_.reset();
      executor_.reset();
    }
    if (cancel)
      cancel();
  }

private:
  template <class Make>
  void post(Handler&& handler, Make&& make) {
    asio::post(*executor_, [handler = std::move(handler),
                            make = std::move(make)]() mutable {
      // Its frame may end with the handler, which owns this one.
      auto own = std::move(handler);
      Result result = make();
      if (auto slot = asio::get_associated_cancellation_slot(own);
          slot.is_connected())
        slot.clear();
      std::move(own)(std::move(result));
    });
  }

  void cancel() {
    std::function<void()> f;
    {
      std::lock_guard lock{operations_->mutex};
      f = cancel_;
      cancelled_ = true;
    }
    if (f)
      f();
  }

  /// Until its end: it must not live longer than its context.
  std::optional<executor_type> executor_;
  /// The same; when it is reset itself, it keeps a copy of the executor.
  std::optional<asio::executor_work_guard<executor_type>> work_;
  const std::shared_ptr<asio_operations> operations_;
  std::optional<Handler> handler_;
  std::function<void()> cancel_;
  bool cancelled_ = false;
};

} // namespace caisson::detail
