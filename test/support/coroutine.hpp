// Coroutines of tests.
#pragma once

#include <coroutine>
#include <exception>
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

} // namespace caisson::test
