// The host behind a guard: an engine that threads share.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/engine.hpp>
#include <caisson/gate/event_loop.hpp>
#include <caisson/gate/result.hpp>
#include <caisson/stack/stack.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace caisson::detail {

/// The clock of a guard, and how a thread waits for it.
class guard_clock {
public:
  virtual ~guard_clock() = default;

  [[nodiscard]] virtual time_point now() const = 0;

  /// Gives the mutex up until `changed` is notified or `until` has come; may
  /// return early.
  virtual void wait(std::unique_lock<std::mutex>& lock,
                    std::condition_variable& changed, time_point until)
    = 0;

  /// That of the machine. Lives as long as the program.
  static guard_clock& steady();
};

/// How an attempt ended.
struct attempt_result {
  /// What the function threw; null if it has returned.
  std::exception_ptr thrown = {};
  /// The same for people.
  std::string text = {};
  /// What that means; nothing if nobody has an opinion.
  std::optional<answer_info> meaning = {};
};

/// Makes the attempts of one call, in the thread that made the call.
class attempt_maker {
public:
  explicit attempt_maker(bool takes_options) : takes_options_(takes_options) {}
  virtual ~attempt_maker() = default;

  attempt_maker(const attempt_maker&) = delete;
  attempt_maker& operator=(const attempt_maker&) = delete;

  /// Whether `make` looks at the options.
  [[nodiscard]] bool takes_options() const noexcept { return takes_options_; }

  /// Throws nothing. `abandoned` becomes true when nobody waits for the result
  /// any more.
  virtual attempt_result make(const call_options& options,
                              const std::atomic<bool>& abandoned)
    = 0;

private:
  bool takes_options_;
};

class async_call;
struct async_attempt_state;
class guard_host;

/// How readers of metrics, and calls that no thread waits for, find their host
/// as long as it is there.
struct guard_link {
  explicit guard_link(guard_host& x) : host(x) {}

  /// Whether this thread is in a function that the engine has called. The host
  /// is there then, and the thread has its mutex.
  [[nodiscard]] bool is_stepping() const noexcept {
    return stepping.load(std::memory_order_relaxed)
           == std::this_thread::get_id();
  }

  guard_host& host;
  /// The thread that the engine runs in.
  std::atomic<std::thread::id> stepping = {};
  /// Protects what follows. Not to be waited for with the mutex of a host.
  std::mutex mutex = {};
  bool ended = false;
};

/// A host of an engine whose callers are threads or event loops. A thread makes
/// the attempts of its own calls and waits in between; those of an event loop
/// are carried on by the threads in which something happens (`async_call`). All
/// functions are safe to call from any thread.
///
/// If memory is exhausted in one of them, the process ends: the engine would be
/// left with calls whose threads have gone.
class guard_host final : private engine_host {
public:
  using listener = std::function<void(const event&)>;
  using exception_classifier = std::function<std::optional<answer_info>(
    const std::exception_ptr&)>;

  /// Throws `config_error` if something is wrong with the stack. `sys` may be
  /// null.
  guard_host(caf::actor_system* sys, const stack& policies,
             exception_classifier classify,
             guard_clock& clock = guard_clock::steady());
  ~guard_host();

  guard_host(const guard_host&) = delete;
  guard_host& operator=(const guard_host&) = delete;

  [[nodiscard]] const exception_classifier& classifier() const noexcept {
    return classify_;
  }

  /// `options` may be null. Throws `std::logic_error` in a function that the
  /// engine calls.
  call_end call(call_options* options, attempt_maker& maker);

  /// The same of a call that no thread waits for.
  void begin(async_call& x, call_options* options);

  /// A call whose work the host knows nothing of.
  struct opened {
    /// Hands it back; null if the call was refused.
    std::uint64_t token = 0;
    /// What is known of it, if it was not.
    call_options options = {};
    /// Why it was refused.
    call_end refused = {};
  };

  /// Admits a call or refuses it, at once: one that would have to wait is
  /// refused. `options` may be null.
  opened open(call_options* options);
  /// The work of a call that was admitted is over; without a result it says
  /// nothing. Each token once.
  void close(std::uint64_t token, const std::optional<attempt_result>& how);

  [[nodiscard]] status get_status();
  /// Return an error if nothing was changed.
  [[nodiscard]] caf::error apply(const reconfigure& x);
  [[nodiscard]] caf::error apply(const command& x);
  void listen_to_events(listener f);
  /// Returns when the last call is over.
  void drain();
  /// Answers everything with `cancelled`; returns at once.
  void stop();

private:
  friend class async_call;
  friend class async_attempt;
  struct caller;
  struct thread_caller;
  struct admitted_caller;
  struct caller_of_slot;
  class step;
  class stay;
  class visit;
  struct attempt_end;
  struct deferred_end;
  using lock_type = std::unique_lock<std::mutex>;

  // -- what the engine asks for -----------------------------------------------

  std::uint64_t deliver(target_id to, std::uint64_t key, caf::message&& content,
                        bool urgent) override;
  void send_cancelled(target_id to, std::uint64_t number) override;
  void answer(reply_slot to, caf::message&& content) override;
  void wake_at(time_point at) override;
  void emit(const event& what) override;
  bool has_subscribers() const override { return listener_ != nullptr; }
  // A thread cannot end while its call is here.
  void watch_caller(const reply_slot&) override {}
  void unwatch_caller(std::uint64_t) override {}
  std::optional<made_worker> make_worker(std::uint32_t) override { return {}; }
  void forget_worker() override {}
  bool is_down(target_id) const override { return false; }
  void worker_given_up(const std::string&) override {}
  void engine_failed(const caf::error& why) override;
  void hold_open(bool) override {}

  // -- parts ------------------------------------------------------------------

  [[nodiscard]] engine_setup setup(const stack& policies);
  [[nodiscard]] caf::error end_error() const;
  /// Throws `std::logic_error`: a function of the policies comes back.
  [[noreturn]] void refuse_return() const;
  [[nodiscard]] lock_type enter();
  [[nodiscard]] static std::uint64_t token_of(caller& who) noexcept;
  void begin(thread_caller& who, call_options* options, std::uint64_t id = 0);
  void withdraw(caller& who, time_point now);
  void end(admitted_caller& who, const std::optional<attempt_result>& how,
           time_point now);
  void end_those_of_step(time_point now);
  [[nodiscard]] bool is_stepping() const noexcept;
  call_end finish(lock_type& lock, call_options* options,
                  attempt_maker& maker) noexcept;
  void wake(caller& who);
  [[nodiscard]] static call_end end_of(caller& who);
  void leave(thread_caller& who);
  void leave();
  static void refresh(guard_link& link);
  void make_attempt(lock_type& lock, thread_caller& who, attempt_maker& maker);
  void wait(lock_type& lock, thread_caller& who);
  void run_timers(time_point now);
  void pass_the_clock();
  template <class F>
  caf::error operate(F f);
  void hand_out_events(lock_type& lock);
  void let_go(lock_type& lock);

  // -- calls that no thread waits for -----------------------------------------

  /// Keeps the time for all calls of an event loop.
  struct loop_clock {
    std::shared_ptr<event_loop> loop;
    std::unique_ptr<loop_timer> timer;
    std::size_t calls = 0;
    /// What the timer is set to.
    time_point set = never;
    /// Whether it will be looked at again, as there were no calls.
    bool sweeps = false;
  };

  void begin(lock_type& lock, async_call& x, call_options* options) noexcept;
  void carry_on(lock_type& lock, async_call& x) noexcept;
  void start_next(lock_type& lock, async_call& x);
  void end_attempt(lock_type& lock, async_call& x,
                   std::shared_ptr<async_attempt_state>& state,
                   attempt_result& result, bool in_loop) noexcept;
  attempt_end keep_result(async_call& x,
                          std::shared_ptr<async_attempt_state>& state,
                          attempt_result& result);
  void report(attempt_end&& how, time_point now);
  void cancel(lock_type& lock, async_call& x) noexcept;
  void withdraw(async_call& x, time_point now);
  void defer(deferred_end&& x);
  void carry_out(deferred_end& x, time_point now);
  void attend(async_call& x);
  void abandon_attempt(async_call& x);
  void finish(async_call& x);
  void use_loop(const std::shared_ptr<event_loop>& x);
  void release_loop(const event_loop* x);
  void sweep(const event_loop* x);
  void on_alarm(lock_type& lock, const event_loop* x) noexcept;
  void set_timers();

  const std::string name_;
  const exception_classifier classify_;
  caf::actor_system* const system_;
  guard_clock& clock_;
  const std::shared_ptr<guard_link> link_;
  std::mutex mutex_;
  engine engine_;
  /// Calls that a function of the policies has let go of.
  std::vector<std::unique_ptr<admitted_caller>> ended_in_step_;
  /// Attempts and calls that one has ended, in order.
  std::vector<std::unique_ptr<deferred_end>> deferred_;
  /// What the attempt meant whose end the engine hears of.
  std::optional<answer_info> meaning_;
  /// How many threads have calls here, or carry one on.
  std::size_t inside_ = 0;
  /// Those of them that wait.
  std::vector<thread_caller*> waiting_;
  /// Waits for the engine's next timer, for all of them.
  thread_caller* timekeeper_ = nullptr;
  time_point armed_ = never;
  /// Notified when a call is over while somebody waits for that.
  std::condition_variable left_;
  bool awaits_end_ = false;
  bool stopped_ = false;
  std::shared_ptr<const listener> listener_;
  std::deque<event> events_;
  /// The thread that hands out events.
  std::thread::id handing_out_ = {};
  /// Notified when it has come back from a listener.
  std::condition_variable returned_;
  bool listening_ = false;
  /// Those that have calls here.
  std::vector<loop_clock> loops_;
  /// What is to be let go without the mutex: calls that were answered, and what
  /// has ended within a step.
  std::vector<std::shared_ptr<void>> released_;
};

} // namespace caisson::detail
