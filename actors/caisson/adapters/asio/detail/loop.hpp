// The event loop behind an executor of Asio.
#pragma once

#include <caisson/adapters/asio/detail/operation.hpp>
#include <caisson/base/time.hpp>
#include <caisson/gate/event_loop.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

namespace caisson::detail {

/// A timer that ends with its context.
class asio_timer final : public asio_operation,
                         public std::enable_shared_from_this<asio_timer> {
public:
  asio_timer(const asio::any_io_executor& executor, std::function<void()> f)
    : operations_(operations_of(executor)),
      f_(std::make_shared<const std::function<void()>>(std::move(f))),
      timer_(executor) {}

  void enlist() {
    std::lock_guard lock{operations_->mutex};
    if (operations_->closed)
      timer_.reset();
    else
      operations_->all.emplace(this, weak_from_this());
  }

  void set(time_point at) {
    std::lock_guard lock{operations_->mutex};
    if (!timer_)
      return;
    timer_->expires_at(at);
    if (at != never)
      timer_->async_wait([f = f_](const std::error_code& why) {
        if (!why)
          (*f)();
      });
  }

  void abandon() override {
    std::lock_guard lock{operations_->mutex};
    operations_->all.erase(this);
    timer_.reset();
  }

private:
  const std::shared_ptr<asio_operations> operations_;
  const std::shared_ptr<const std::function<void()>> f_;
  std::optional<asio::steady_timer> timer_;
};

class asio_loop_timer final : public loop_timer {
public:
  asio_loop_timer(const std::optional<asio::any_io_executor>& executor,
                  std::function<void()> f) {
    if (!executor)
      return;
    timer_ = std::make_shared<asio_timer>(*executor, std::move(f));
    timer_->enlist();
  }
  ~asio_loop_timer() override {
    if (timer_)
      timer_->abandon();
  }

  void set(time_point at) override {
    if (timer_)
      timer_->set(at);
  }

private:
  /// Null if the context has ended.
  std::shared_ptr<asio_timer> timer_;
};

/// An executor, as long as its context has not ended.
template <class Executor>
class asio_home final
  : public asio_operation,
    public std::enable_shared_from_this<asio_home<Executor>> {
public:
  asio_home(Executor x, std::shared_ptr<asio_operations> operations)
    : operations_(std::move(operations)), executor_(std::move(x)) {}
  ~asio_home() override {
    std::lock_guard lock{operations_->mutex};
    operations_->all.erase(this);
  }

  /// To be called once. `f` is called when the context ends.
  void enlist(std::function<void()> f) {
    std::lock_guard lock{operations_->mutex};
    on_end_ = std::move(f);
    if (operations_->closed)
      executor_.reset();
    else
      operations_->all.emplace(this, this->weak_from_this());
  }

  /// Nothing if the context has ended.
  [[nodiscard]] std::optional<Executor> executor() {
    std::lock_guard lock{operations_->mutex};
    return executor_;
  }

  /// Runs `f` soon, or drops it if the context has ended.
  template <class F>
  void post(F&& f) {
    std::lock_guard lock{operations_->mutex};
    if (executor_)
      asio::post(*executor_, std::forward<F>(f));
  }

  void abandon() override {
    std::function<void()> f;
    {
      std::lock_guard lock{operations_->mutex};
      executor_.reset();
      f.swap(on_end_);
    }
    if (f)
      f();
  }

private:
  const std::shared_ptr<asio_operations> operations_;
  std::optional<Executor> executor_;
  std::function<void()> on_end_;
};

/// Guards tell loops apart by their objects, so there is one for each context.
class asio_loop final : public event_loop {
public:
  explicit asio_loop(const asio::any_io_executor& executor)
    : operations_(operations_of(executor)),
      home_(std::make_shared<asio_home<asio::any_io_executor>>(executor,
                                                               operations_)) {
    home_->enlist({});
  }

  [[nodiscard]] const std::shared_ptr<asio_operations>& operations() const {
    return operations_;
  }

  void post(std::function<void()> f) override { home_->post(std::move(f)); }

  std::unique_ptr<loop_timer> make_timer(std::function<void()> f) override {
    return std::make_unique<asio_loop_timer>(home_->executor(), std::move(f));
  }

private:
  const std::shared_ptr<asio_operations> operations_;
  const std::shared_ptr<asio_home<asio::any_io_executor>> home_;
};

/// Keeps the loop of a context as long as somebody uses it.
class asio_loop_service final : public asio::execution_context::service {
public:
  using key_type = asio_loop_service;
  static inline asio::execution_context::id id;

  explicit asio_loop_service(asio::execution_context& x) : service(x) {}

  template <class Executor>
  std::shared_ptr<asio_loop> loop(const Executor& x) {
    std::lock_guard lock{mutex_};
    auto out = loop_.lock();
    if (!out)
      loop_ = out = std::make_shared<asio_loop>(x);
    return out;
  }

private:
  void shutdown() override {
    // Those who use it keep it.
  }

  std::mutex mutex_;
  std::weak_ptr<asio_loop> loop_;
};

/// The executor behind a strand, as what waits for a strand delays the timers
/// of others.
template <class Executor>
asio::any_io_executor without_strand(const Executor& x) {
  return x;
}
template <class Executor>
asio::any_io_executor without_strand(const asio::strand<Executor>& x) {
  return without_strand(x.get_inner_executor());
}
inline asio::any_io_executor without_strand(const asio::any_io_executor& x) {
  using in_loop = asio::strand<asio::io_context::executor_type>;
  using in_pool = asio::strand<asio::thread_pool::executor_type>;
  if (const auto* s = x.target<in_loop>())
    return s->get_inner_executor();
  if (const auto* s = x.target<in_pool>())
    return s->get_inner_executor();
  if (const auto* s = x.target<asio::strand<asio::any_io_executor>>())
    return s->get_inner_executor();
  return x;
}

template <class Executor>
std::shared_ptr<asio_loop> loop_of(const Executor& x) {
  return asio::use_service<asio_loop_service>(context_of(x))
    .loop(without_strand(x));
}

} // namespace caisson::detail
