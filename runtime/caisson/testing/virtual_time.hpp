// An actor system in virtual time, for tests and simulations.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

class virtual_time;

namespace detail {
class probe_actor;
struct probe_state;
} // namespace detail

/// The answer to a probe's request; a copyable handle.
class pending_answer {
public:
  /// Whether it has arrived.
  [[nodiscard]] bool ready() const noexcept { return state_->count > 0; }

  /// How many answers have arrived: more than one is a bug in the answering
  /// actor.
  [[nodiscard]] std::size_t count() const noexcept { return state_->count; }

  /// Whether it has arrived and is a value.
  [[nodiscard]] bool ok() const { return ready() && !error(); }

  /// When it arrived.
  [[nodiscard]] time_point at() const noexcept { return state_->at; }

  /// The whole answer. Empty before it has arrived.
  [[nodiscard]] const caf::message& content() const noexcept {
    return state_->content;
  }

  /// The error; default-constructed (false) if the answer is not an error.
  [[nodiscard]] caf::error error() const {
    auto* err = portable::get_if<caf::error>(state_->content);
    return err ? *err : caf::error{};
  }

  /// Whether it is the Caisson error `code`.
  [[nodiscard]] bool is(errc code) const { return error() == code; }

  /// The value. Throws `std::logic_error` if the answer has not arrived or is
  /// not exactly one T.
  template <class T>
  [[nodiscard]] T value() const {
    if (!ready())
      throw std::logic_error{"no answer yet"};
    if (auto* x = portable::get_if<T>(state_->content))
      return *x;
    throw std::logic_error{"the answer is " + to_string(state_->content)};
  }

private:
  friend class detail::probe_actor;
  struct shared {
    caf::message content;
    std::size_t count = 0;
    time_point at;
  };
  std::shared_ptr<shared> state_ = std::make_shared<shared>();
};

/// An actor under the test's control: it sends messages for the test and keeps
/// those that it gets.
class probe {
public:
  /// Sends `xs...` as a request.
  template <class Handle, class... Ts>
  pending_answer request(const Handle& to, Ts&&... xs) {
    return request_message(caf::actor_cast<caf::actor>(to),
                           caf::make_message(std::forward<Ts>(xs)...));
  }

  /// Sends `content` as a request. The answer is an error if `to` is null, and
  /// never comes if this probe was killed.
  pending_answer request_message(const caf::actor& to, caf::message content);

  /// Sends `xs...` as a request of high priority.
  template <class Handle, class... Ts>
  pending_answer request_urgently(const Handle& to, Ts&&... xs) {
    return request_message(caf::actor_cast<caf::actor>(to),
                           caf::make_message(std::forward<Ts>(xs)...), true);
  }

  /// Sends `content` as a request, with high priority if `urgent`.
  pending_answer request_message(const caf::actor& to, caf::message content,
                                 bool urgent);

  /// Sends `xs...` without requesting an answer.
  template <class Handle, class... Ts>
  void send(const Handle& to, Ts&&... xs) {
    send_message(caf::actor_cast<caf::actor>(to),
                 caf::make_message(std::forward<Ts>(xs)...));
  }

  /// Sends `content` without requesting an answer. Nothing is sent to null, or
  /// after this probe was killed.
  void send_message(const caf::actor& to, caf::message content);

  /// The messages received other than answers, oldest first.
  [[nodiscard]] const std::vector<caf::message>& received() const noexcept;

  /// The received messages that are a single T.
  template <class T>
  [[nodiscard]] std::vector<T> received_as() const {
    std::vector<T> out;
    for (const auto& msg : received())
      if (auto* x = portable::get_if<T>(msg))
        out.push_back(*x);
    return out;
  }

  /// Empties the list that `received` returns.
  void forget_received();

  /// The probe's own address, for messages to it. It answers requests with
  /// nothing, at once.
  [[nodiscard]] const caf::actor& handle() const noexcept { return actor_; }

private:
  friend class virtual_time;
  probe(caf::actor actor, std::shared_ptr<detail::probe_state> state)
    : actor_(std::move(actor)), state_(std::move(state)) {}

  caf::actor actor_;
  std::shared_ptr<detail::probe_state> state_;
};

/// An actor system that runs on the calling thread. Its clock moves only when
/// the test moves it. It is deterministic: the same program and seed give the
/// same order of messages.
///
///     caisson::virtual_time world;
///     auto gate = caisson::spawn_breaker(world.system(), worker, {…});
///     auto answer = world.request(gate, query{1});
///     world.advance(5s);
///     EXPECT_TRUE(answer.is(caisson::errc::deadline_exceeded));
///
/// Not for blocking or detached actors: those use threads and the real clock.
/// Only one thread at a time may use it.
class virtual_time {
public:
  /// The limit for a run that never becomes idle.
  static constexpr std::size_t default_limit = 10'000'000;

  /// Without a seed, actors run in the order in which they got mail, each until
  /// its mailbox is empty. With a seed, a randomly drawn actor handles a single
  /// message, then the next is drawn.
  explicit virtual_time(std::optional<std::uint64_t> seed = {});

  /// As above, with the user's own config (derived from `system_config`, or set
  /// up with `register_types`) for its message types and options. It must
  /// outlive the object.
  virtual_time(caf::actor_system_config& cfg,
               std::optional<std::uint64_t> seed = {});

  /// Ends the probes and drops all timers. It does not end other actors,
  /// because CAF cannot list them.
  ~virtual_time();

  virtual_time(const virtual_time&) = delete;
  virtual_time& operator=(const virtual_time&) = delete;

  /// Valid as long as this object.
  [[nodiscard]] caf::actor_system& system() { return *system_; }
  operator caf::actor_system&() { return *system_; }

  // -- time -------------------------------------------------------------------

  /// The current instant.
  [[nodiscard]] time_point now() { return stepper_->now(); }

  /// Time since construction.
  [[nodiscard]] duration elapsed() { return now() - start_; }

  /// Lets actors run until none has mail, without moving the clock. Returns the
  /// number of messages handled. Throws `std::runtime_error` after `limit`
  /// messages, to detect a livelock.
  std::size_t run_until_idle(std::size_t limit = default_limit);

  /// As above, but returns as soon as all of these have arrived.
  std::size_t run_until_ready(const std::vector<pending_answer>& answers,
                              std::size_t limit = default_limit);

  /// Advances the clock by `d`, d ≥ 0, stopping at each timer on the way: every
  /// handler sees the instant at which its timer was due. Returns when all
  /// actors are idle.
  void advance(duration d);

  /// Advances the clock to `t`; does nothing if that is in the past.
  void advance_to(time_point t);

  /// Advances from timer to timer until none is left. Throws
  /// `std::runtime_error` after `limit` timers, in case an actor keeps setting
  /// them.
  void run_all_timers(std::size_t limit = default_limit);

  /// Calls `goes_on` after every 256 messages or timers. Once it returns false,
  /// all functions that let actors run or time pass return at once, with work
  /// left, until `watch` is called again. An empty function ends the watch. Use
  /// it for limits on real time and for Ctrl-C, because an instant can hold any
  /// amount of work. The calls do not affect the world.
  void watch(std::function<bool()> goes_on);

  /// Whether the watch has returned false.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  /// For actors that do a lot in a single handler: counts as a message for the
  /// watch, and returns whether to continue.
  [[nodiscard]] bool goes_on();

  /// The number of pending timers.
  [[nodiscard]] std::size_t timers() { return stepper_->timers(); }

  /// The number of messages handled so far.
  [[nodiscard]] std::uint64_t handled() const noexcept { return handled_; }

  // -- actors -----------------------------------------------------------------

  /// The number of actors that are alive, without probes.
  [[nodiscard]] std::size_t actors();

  /// Ends an actor at once, like a crash, and lets the others notice.
  template <class Handle>
  void kill(const Handle& x) {
    caf::anon_send_exit(x, caf::exit_reason::kill);
    run_until_idle();
  }

  /// A new probe; it lives as long as the world, or until it is killed through
  /// its handle.
  probe make_probe();

  /// The probe that `request` and `send` use.
  [[nodiscard]] probe& user() noexcept { return *user_; }

  /// Sends `xs...` as a request and lets the actors run.
  template <class Handle, class... Ts>
  pending_answer request(const Handle& to, Ts&&... xs) {
    auto answer = user_->request(to, std::forward<Ts>(xs)...);
    run_until_idle();
    return answer;
  }

  /// Sends `xs...` and lets the actors run.
  template <class Handle, class... Ts>
  void send(const Handle& to, Ts&&... xs) {
    user_->send(to, std::forward<Ts>(xs)...);
    run_until_idle();
  }

private:
  void start(caf::actor_system_config& cfg);
  template <class F>
  std::size_t run_while(F condition, std::size_t limit);

  std::unique_ptr<system_config> own_config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<portable::stepper> stepper_;
  std::optional<random_source> order_;
  time_point start_;
  std::uint64_t handled_ = 0;
  std::function<bool()> watch_;
  std::size_t unwatched_ = 0;
  bool stopped_ = false;
  std::vector<probe> probes_;
  std::optional<probe> user_;
};

} // namespace caisson
