// Coroutines of tests.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace caisson::test {

/// A coroutine that begins at once, and is destroyed with this object wherever
/// it waits.
class coroutine {
public:
  struct promise_type {
    coroutine get_return_object() {
      return coroutine{handle::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  using handle = std::coroutine_handle<promise_type>;

  coroutine() = default;
  explicit coroutine(handle x) : handle_(x) {}
  coroutine(coroutine&& x) noexcept : handle_(std::exchange(x.handle_, {})) {}
  coroutine& operator=(coroutine&& x) noexcept {
    std::swap(handle_, x.handle_);
    return *this;
  }
  ~coroutine() {
    if (handle_)
      handle_.destroy();
  }

  [[nodiscard]] bool done() const { return handle_.done(); }

private:
  handle handle_ = {};
};

/// A coroutine with a value, which begins when it is awaited.
template <class T>
class task {
public:
  struct promise_type {
    task get_return_object() { return task{handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct awaiter {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<>
        await_suspend(std::coroutine_handle<promise_type> x) noexcept {
          return x.promise().waiting;
        }
        void await_resume() noexcept {}
      };
      return awaiter{};
    }
    void return_value(T x) { value.emplace(std::move(x)); }
    void unhandled_exception() { thrown = std::current_exception(); }

    std::coroutine_handle<> waiting;
    std::optional<T> value;
    std::exception_ptr thrown;
  };
  using handle = std::coroutine_handle<promise_type>;

  explicit task(handle x) : handle_(x) {}
  task(task&& x) noexcept : handle_(std::exchange(x.handle_, {})) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_)
      handle_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  handle await_suspend(std::coroutine_handle<> waiter) {
    handle_.promise().waiting = waiter;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().thrown)
      std::rethrow_exception(handle_.promise().thrown);
    return std::move(*handle_.promise().value);
  }

private:
  handle handle_;
};

} // namespace caisson::test
