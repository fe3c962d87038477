// A worker under a test's control, in virtual time.
#pragma once

#include <caisson/testing/virtual_time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson {

namespace detail {

class scripted_actor;
struct scripted_state;
struct scripted_life;

/// `err` as a message. Throws `std::logic_error` if it is not an error.
caf::message error_content(caf::error err);

/// The message `xs...`. A single message stays as it is. A single error, or
/// error code such as `caf::sec::runtime_error`, becomes an error.
template <class... Ts>
caf::message scripted_content(Ts&&... xs) {
  constexpr bool single = sizeof...(Ts) == 1;
  if constexpr (single && (std::is_convertible_v<Ts, caf::message> && ...))
    return (std::forward<Ts>(xs), ...);
  else if constexpr (single && (std::is_convertible_v<Ts, caf::error> && ...))
    return error_content((std::forward<Ts>(xs), ...));
  else
    return make_early(std::forward<Ts>(xs)...);
}

/// The only element of `msg`, or of the content of its `call` envelope, if it
/// is a T, else null.
template <class T>
const T* scripted_value(const caf::message& msg) {
  if (auto* x = portable::get_if<T>(msg))
    return x;
  auto* envelope = portable::get_if<call>(msg);
  return envelope ? portable::get_if<T>(envelope->payload) : nullptr;
}

} // namespace detail

/// An actor under the test's control that accepts any message. It replaces a
/// service in the test of a client or a gate:
///
///     caisson::scripted_worker service{world};
///     auto answer = world.request(service.handle(), query{1});
///     EXPECT_EQ(service.open_as<query>().number, 1);
///     service.answer(result{"one"});
///     EXPECT_TRUE(answer.ok());
///
/// The next reply of the plan decides what happens to a message. Once the plan
/// is used up, the script decides. Without either, the request stays open until
/// the test answers it. Plain sends are never open, because no caller waits.
///
/// The object is a handle: copies refer to the same worker, which lives as long
/// as a copy or a reference to the actor exists. No copy may outlive the world.
/// `answer`, `fail`, `quit`, `kill` and `restart` let the actors run until
/// idle, so they are not for handlers: called in the worker's own script they
/// throw `std::logic_error`, like any other invalid use. One thread at a time.
class scripted_worker {
public:
  /// How many messages are kept for `received`.
  static constexpr std::size_t max_received = 1024;

  /// What the worker does with one message.
  class reply {
  public:
    /// Keeps it open until the test answers it.
    reply() = default;

    /// Answers with `content`.
    reply(caf::message content);

    /// As above; without content, keeps it open.
    reply(std::optional<caf::message> content);

    /// Answers with `xs...`. An error or error code fails the request.
    template <class... Ts>
    static reply value(Ts&&... xs) {
      return {detail::scripted_content(std::forward<Ts>(xs)...)};
    }

    /// Answers with an error or error code of CAF, Caisson or your own.
    static reply error(caf::error why);

    /// Never answers, and keeps nothing.
    static reply silence();

    /// Ends the worker while it handles this message, which is not answered.
    static reply death(caf::error why = caf::sec::runtime_error);

    /// This reply, `d` later, d ≥ 0: the answer, the error or the death. Throws
    /// `std::logic_error` for other replies.
    [[nodiscard]] reply after(duration d) const;

  private:
    friend class detail::scripted_actor;
    enum class kind { open, answer, silence, death };
    kind kind_ = kind::open;
    caf::message content_;
    caf::error why_;
    duration delay_ = duration::zero();
  };

  /// Decides what happens to a message; called in the worker's handler. It may
  /// return a message, or an optional one, instead of a `reply`. If it throws,
  /// the message is answered with CAF's `runtime_error` and the worker ends, as
  /// if a handler had thrown. It must not hold a copy of the worker, which
  /// would then live forever; use a reference.
  using script = std::function<reply(const caf::message&)>;

  /// A received message.
  struct arrival {
    /// As it came: a `call` envelope is part of it.
    caf::message content;
    /// When it arrived.
    time_point at;
    /// The incarnation of the worker that got it, from 1 on.
    std::size_t incarnation = 0;
    /// Its number among the requests of its sender, to which `cancelled`
    /// refers. 0 for plain sends.
    std::uint64_t number = 0;
    /// Whether it was sent with high priority.
    bool urgent = false;
    /// Whether its sender cancelled it before it was answered. Gates send
    /// `cancelled` to workers declared with `takes_cancelled()`.
    bool cancelled = false;

    /// Whether it is a single T, or an envelope with one.
    template <class T>
    [[nodiscard]] bool holds() const {
      return detail::scripted_value<T>(content) != nullptr;
    }

    /// Its value, or that of the payload in a `call` envelope. Throws
    /// `std::logic_error` if it is not exactly one T.
    template <class T>
    [[nodiscard]] T as() const {
      if (auto* x = detail::scripted_value<T>(content))
        return *x;
      throw std::logic_error{"scripted_worker: the message is "
                             + to_string(content) + ", another type"};
    }

    /// The options in its `call` envelope. Throws `std::logic_error` without an
    /// envelope: only workers declared with `takes_calls()` get one.
    [[nodiscard]] call_options options() const;
  };

  /// Starts the worker in `world`, which must outlive this object.
  explicit scripted_worker(virtual_time& world, script run = {});

  // -- what it does -----------------------------------------------------------

  /// Appends to the plan: the next `n` messages without a planned reply get
  /// this one.
  scripted_worker& plan(reply what, std::size_t n = 1);

  /// How many planned replies are left.
  [[nodiscard]] std::size_t planned() const noexcept;

  /// Replaces the script; an empty one leaves messages open. The plan stays.
  void become(script run);

  /// A script that answers every message with `xs...`, like `reply::value`.
  template <class... Ts>
  static script always(Ts&&... xs) {
    return always_reply(reply::value(std::forward<Ts>(xs)...));
  }
  /// A script that gives every message the same reply.
  static script always_reply(reply what);

  /// A script for messages of a single T, with or without a `call` envelope:
  /// `f` gets it and returns a value, an error or error code, or a `reply`. All
  /// other messages get CAF's `unexpected_message`.
  template <class T, class F>
  static script on(F f);

  // -- what came --------------------------------------------------------------

  /// How many messages have arrived in total, at all incarnations.
  [[nodiscard]] std::size_t count() const noexcept;

  /// The last `max_received` messages, oldest first.
  [[nodiscard]] const std::deque<arrival>& received() const noexcept;

  /// The received messages that are a single T, with or without an envelope.
  template <class T>
  [[nodiscard]] std::vector<T> received_as() const {
    std::vector<T> out;
    for (const auto& x : received())
      if (auto* value = detail::scripted_value<T>(x.content))
        out.push_back(*value);
    return out;
  }

  /// Clears that list, but not `count`.
  void forget_received();

  /// How many `cancelled` messages have arrived; they do not count as messages.
  [[nodiscard]] std::size_t cancelled_count() const noexcept;

  // -- what is open -----------------------------------------------------------

  /// How many requests wait for the test to answer them. They end with the
  /// worker.
  [[nodiscard]] std::size_t open() const noexcept;

  /// The `i`-th open request, the oldest is 0. Like all functions with an `i`,
  /// throws `std::logic_error` if there are not that many.
  [[nodiscard]] arrival open_message(std::size_t i = 0) const;

  /// The value of the `i`-th open request, as from `arrival::as`.
  template <class T>
  [[nodiscard]] T open_as(std::size_t i = 0) const {
    return open_message(i).as<T>();
  }

  /// The sender of the `i`-th open request.
  [[nodiscard]] caf::strong_actor_ptr open_sender(std::size_t i = 0) const;

  /// Answers the oldest with `xs...`. A single error or error code fails it. A
  /// single `caf::message` is sent as it is.
  template <class... Ts>
  void answer(Ts&&... xs) {
    answer_nth(0, std::forward<Ts>(xs)...);
  }

  /// Answers the `i`-th; later ones move up.
  template <class... Ts>
  void answer_nth(std::size_t i, Ts&&... xs) {
    answer_message(i, detail::scripted_content(std::forward<Ts>(xs)...));
  }

  /// Answers the oldest with an error of CAF, Caisson or your own. Throws
  /// `std::logic_error` if `why` is not an error.
  void fail(caf::error why) { fail_nth(0, std::move(why)); }
  /// Fails the `i`-th; later ones move up. Throws as `fail` does.
  void fail_nth(std::size_t i, caf::error why);

  // -- its life ---------------------------------------------------------------

  /// The actor; a new one after each restart.
  [[nodiscard]] const caf::actor& handle() const noexcept;

  /// The same with a typed interface, such as `as<account_actor>()`. The test
  /// must give answers that match it.
  template <class Handle>
  [[nodiscard]] Handle as() const {
    return caf::actor_cast<Handle>(handle());
  }

  /// Whether it has not ended; a worker is alive once it is created.
  [[nodiscard]] bool alive() const noexcept;

  /// How often it was started, from 1 on.
  [[nodiscard]] std::size_t incarnations() const noexcept;

  /// Ends it and its open requests. Delayed replies are dropped, the plan
  /// stays. Does nothing if it has ended. Throws `std::logic_error` for the
  /// reason `normal`, which actors ignore.
  void quit(caf::error why = caf::exit_reason::user_shutdown);

  /// Ends it like a crash.
  void kill() { quit(caf::exit_reason::kill); }

  /// Starts it again with a new handle, the script and the rest of the plan.
  /// Throws `std::logic_error` if it is alive.
  void restart();

  /// For `worker::supervised`: returns the worker, restarted if it has ended.
  [[nodiscard]] std::function<caf::expected<caf::actor>(caf::actor_system&)>
  factory() const;

private:
  void answer_message(std::size_t i, caf::message content);
  void run_actors();

  std::shared_ptr<detail::scripted_life> life_;
};

// -- implementation -----------------------------------------------------------

template <class T, class F>
scripted_worker::script scripted_worker::on(F f) {
  return [f = std::move(f)](const caf::message& msg) -> reply {
    auto* x = detail::scripted_value<T>(msg);
    if (!x)
      return reply::error(caf::make_error(caf::sec::unexpected_message, msg));
    using result = decltype(f(*x));
    if constexpr (std::is_convertible_v<result, reply>)
      return f(*x);
    else if constexpr (std::is_void_v<result>)
      return f(*x), reply::value();
    else
      return reply::value(f(*x));
  };
}

} // namespace caisson
