// Receiver of the answer to a request through a local gate.
#pragma once

#include <caisson/base/thread_blocks.hpp>
#include <caisson/caf/caf.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace caisson::detail {

/// Takes the answer to one request.
class local_response {
public:
  explicit local_response(bool awaited) : awaited_(awaited) {}
  virtual ~local_response() = default;

  local_response(const local_response&) = delete;
  local_response& operator=(const local_response&) = delete;

  /// One is made for each call.
  static void* operator new(std::size_t n) { return thread_blocks::take(n); }
  static void operator delete(void* p, std::size_t n) noexcept {
    thread_blocks::give_back(p, n);
  }

  /// Whether the actor does nothing else until the answer is here.
  [[nodiscard]] bool awaited() const noexcept { return awaited_; }

  virtual void operator()(caf::message& content) = 0;

private:
  friend class response_queue;

  bool awaited_;
  /// The answer, while it waits in a queue, and the next one there.
  caf::message content_;
  local_response* next_ = nullptr;
};

/// Answers that wait to be delivered, first in, first out. Allocates no memory.
class response_queue {
public:
  response_queue() noexcept = default;
  response_queue(const response_queue&) = delete;
  response_queue& operator=(const response_queue&) = delete;
  ~response_queue() { clear(); }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void push(std::unique_ptr<local_response> x,
            caf::message&& content) noexcept {
    x->content_ = std::move(content);
    *(first_ ? &last_->next_ : &first_) = x.get();
    last_ = x.release();
  }

  /// Hands out the first one. @pre not empty
  void run_first() {
    std::unique_ptr<local_response> x{first_};
    first_ = x->next_;
    (*x)(x->content_);
  }

  void clear() noexcept {
    while (first_)
      std::unique_ptr<local_response>{std::exchange(first_, first_->next_)}
        .reset();
  }

private:
  local_response* first_ = nullptr;
  /// Means something while there is a first one.
  local_response* last_ = nullptr;
};

/// The types of a function object's parameters, without references.
template <class F>
struct parameters : parameters<decltype(&F::operator())> {};
template <class R, class... Ts>
struct parameters<R (*)(Ts...)> {
  using type = std::tuple<std::decay_t<Ts>...>;
};
template <class C, class R, class... Ts>
struct parameters<R (C::*)(Ts...)> : parameters<R (*)(Ts...)> {};
template <class C, class R, class... Ts>
struct parameters<R (C::*)(Ts...) const> : parameters<R (*)(Ts...)> {};
template <class C, class R, class... Ts>
struct parameters<R (C::*)(Ts...) noexcept> : parameters<R (*)(Ts...)> {};
template <class C, class R, class... Ts>
struct parameters<R (C::*)(Ts...) const noexcept> : parameters<R (*)(Ts...)> {};

/// Calls `f` with the elements of `content` if they are what it takes. Returns
/// false otherwise.
template <class F>
bool apply_to(F& f, caf::message& content) {
  using types = typename parameters<F>::type;
  if constexpr (std::is_same_v<types, std::tuple<caf::message>>) {
    if constexpr (std::is_invocable_v<F&, caf::message>)
      f(std::move(content));
    else
      f(content);
    return true;
  } else if constexpr (std::tuple_size_v<types> == 0) {
    if (content.size() != 0)
      return false;
    f();
    return true;
  } else {
    return [&]<class... Ts, std::size_t... Is>(std::tuple<Ts...>*,
                                               std::index_sequence<Is...>) {
      if (!content.match_elements<Ts...>())
        return false;
      f(content.get_mutable_as<Ts>(Is)...);
      return true;
    }(static_cast<types*>(nullptr),
           std::make_index_sequence<std::tuple_size_v<types>>{});
  }
}

/// Gives a value to `F` and an error to `G`; a value that `F` does not take is
/// an error.
template <class F, class G>
class response_handlers final : public local_response {
public:
  response_handlers(bool awaited, F f, G g)
    : local_response(awaited), f_(std::move(f)), g_(std::move(g)) {}

  void operator()(caf::message& content) override {
    if (portable::holds<caf::error>(content)) {
      g_(content.get_mutable_as<caf::error>(0));
    } else if (!apply_to(f_, content)) {
      auto err = caf::make_error(caf::sec::unexpected_response,
                                 std::move(content));
      g_(err);
    }
  }

private:
  F f_;
  G g_;
};

/// Does not compile if a typed actor takes no such request, or answers with
/// something that `F` does not take.
template <class Handle, class F, class... Ts>
void check_request() {
  if constexpr (!std::is_same_v<Handle, caf::actor>) {
    using checked = void (*)(caf::event_based_actor*, const Handle&, F, Ts...);
    [[maybe_unused]] checked unused = [](caf::event_based_actor* self,
                                         const Handle& to, F f, Ts... xs) {
      portable::ask(self, to, portable::no_timeout, std::move(xs)...)
        .then(std::move(f), [](const caf::error&) {});
    };
  }
}

} // namespace caisson::detail
