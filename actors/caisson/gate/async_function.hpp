// A call of a guard around an asynchronous function, whatever that returns.
#pragma once

#include <caisson/gate/attempt.hpp>
#include <caisson/gate/detail/guard/async_call.hpp>
#include <caisson/gate/event_loop.hpp>
#include <caisson/gate/guard.hpp>
#include <caisson/gate/result.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace caisson::detail {

/// Holds the function F and the values of its attempts, which are a T each.
template <class F, class T>
class async_function : public async_call {
public:
  async_function(std::shared_ptr<event_loop> loop, F f,
                 exception_classifier classify)
    : async_call(std::move(loop)), f_(std::move(f)),
      classify_(std::move(classify)) {}

  /// What came of the call. Once, when it is done.
  result<T> take() {
    auto& end = this->end();
    if (end.error == caf::none) {
      if (auto* last = static_cast<value_state*>(last_state());
          last && last->value)
        return result<T>{std::move(*last->value)};
      // A policy of the user's has answered, with a message.
      end.error = no_value_error();
    }
    return result<T>{std::move(end)};
  }

protected:
  static constexpr bool takes_attempt = std::invocable<F&, const attempt&>;
  using stored_type = typename result<T>::stored_type;

  decltype(auto) call(const async_attempt& x) {
    if constexpr (takes_attempt)
      return f_(x.view());
    else
      return f_();
  }

  /// Where the attempt puts its value.
  [[nodiscard]] static std::optional<stored_type>&
  value_of(const async_attempt& x) {
    return static_cast<value_state&>(x.state()).value;
  }

  /// What it means that an attempt has thrown this; null if it has not.
  [[nodiscard]] attempt_result result_of(const std::exception_ptr& x) const {
    if (!x)
      return {};
    try {
      std::rethrow_exception(x);
    } catch (...) {
      return thrown_result(classify_);
    }
  }

private:
  struct value_state final : async_attempt_state {
    std::optional<stored_type> value;
  };

  std::shared_ptr<async_attempt_state> make_state() final {
    return std::make_shared<value_state>();
  }
  [[nodiscard]] bool takes_options() const noexcept final {
    return takes_attempt;
  }

  F f_;
  const exception_classifier classify_;
};

} // namespace caisson::detail
