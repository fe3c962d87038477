// A scripted world around an engine, without any actor.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/engine/engine.hpp>

#include <support/words.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

/// What stands behind an engine at its start.
enum class behind { worker, nothing, dead_worker, supervised };

struct world_setup {
  gate_config config = {.name = "gate", .default_deadline = unlimited};
  behind start = behind::worker;
  detail::target_info worker = {};
  /// Of all targets of layers.
  detail::target_info target = {};
  supervision_config supervision = {};
  std::uint64_t seed = 7;
  bool exact_timers = true;
  /// Whether events are written down.
  bool listens = false;
  /// Whether making a worker takes until `worker_made`.
  bool makes_slowly = false;
  /// Which calls are dead letters if they fail.
  std::optional<dead_letter_calls> dead_letters = {};
};

/// The host of an engine, whose clock, callers and targets a test controls.
/// What goes out is written down, one line each:
///
///     5ms worker <- a #0      the attempt number 0, with the content `a`
///     5ms #0 cancelled        its target is notified that nobody waits
///     7ms call 0 = b          the first call is answered with `b`
///     7ms letter x: e         the call `x` is a dead letter, with the error e
///
/// After each step it checks what an engine promises: one answer for each call,
/// none later than its deadline, nothing sent to a target that knows deadlines
/// once that of the call has come, no wake-up in the past, nothing asked for
/// while no step is in flight. At its end nobody waits and nothing is left.
class engine_world final : private detail::engine_host {
public:
  using layers = std::vector<std::unique_ptr<layer>>;

  /// An attempt, as its target has it.
  struct attempt {
    detail::target_id to = 0;
    std::uint64_t key = 0;
    caf::message content = {};
    bool urgent = false;
    bool cancelled = false;
  };

  explicit engine_world(layers policies, world_setup s = {});
  ~engine_world();

  engine_world(const engine_world&) = delete;
  engine_world& operator=(const engine_world&) = delete;

  // -- time -------------------------------------------------------------------

  static time_point origin() { return time_point{} + std::chrono::hours(1); }

  /// Since the start.
  [[nodiscard]] duration now() const { return now_ - origin(); }
  [[nodiscard]] time_point instant() const { return now_; }

  /// Moves the clock, with each wake-up on the way.
  void at(duration t);
  void pass(duration d) { at(now() + d); }

  /// Moves the clock, while wake-ups are late.
  void jump(duration t) { now_ = origin() + t; }

  /// The wake-up comes, also if it is early.
  void wake();

  [[nodiscard]] time_point next_wake() const { return wake_; }

  // -- callers ----------------------------------------------------------------

  /// `caller` asks; returns the number of the call, which is that of its
  /// request, too, unless it gives another one.
  std::size_t call(std::string content, call_options o = {},
                   std::uint64_t caller = 1, std::uint64_t number = 0);

  /// As a message without options.
  std::size_t call_plainly(std::string content);

  /// Asks without waiting for an answer.
  void send(std::string content);

  std::size_t acquire_permit(const acquire& a = {}, std::uint64_t caller = 1);
  std::size_t release_permit(std::uint64_t id, bool failed = false);
  std::size_t drain();

  void cancel(std::uint64_t caller, std::uint64_t number);
  void caller_down(std::uint64_t caller);

  /// What a call was answered with, as text; empty if it was not.
  [[nodiscard]] const std::string& answer_to(std::size_t call) const {
    return calls_.at(call).answer;
  }
  /// The permit that a call was answered with, 0 if none.
  [[nodiscard]] std::uint64_t permit_of(std::size_t call) const {
    return calls_.at(call).lease.id;
  }
  /// How long the holder of that permit must wait before it begins.
  [[nodiscard]] duration starts_in(std::size_t call) const {
    return calls_.at(call).lease.starts_in;
  }
  [[nodiscard]] std::size_t unanswered() const { return open_; }

  // -- what stands behind -----------------------------------------------------

  /// All dead letters so far, in order.
  std::vector<dead_letter> letters;

  /// All attempts so far, in order.
  std::vector<attempt> attempts;

  void answer(std::size_t n, caf::message content);
  void answer(std::size_t n, std::string content) {
    answer(n, text(std::move(content)));
  }
  /// An error of the target's own.
  void fail(std::size_t n);
  /// What CAF says if the target is dead.
  void bounce(std::size_t n);

  void kill(detail::target_id x, const std::string& why = "killed",
            actor_end how = actor_end::abnormal);
  /// The target is dead, but the news has not come.
  void kill_silently(detail::target_id x) { dead_.insert(x); }
  /// How the targets have ended that are dead.
  actor_end end = actor_end::abnormal;

  /// The worker that is being made is there; or is not, with that text.
  void worker_made(const std::string& failure = {});

  [[nodiscard]] bool awaits_worker() const {
    return engine_.awaits_worker(incarnation_);
  }

  /// What making a worker fails with from now on; empty: it does not.
  std::string making_fails;

  /// Whether the host has a mailbox, and how many messages it has sent through
  /// it.
  bool has_mailbox = false;
  int probes = 0;

  // -- the engine -------------------------------------------------------------

  /// Calls `f` with the engine and the present instant, as one step.
  template <class F>
  decltype(auto) step(F f) {
    ++inside_;
    struct closing {
      engine_world& w;
      ~closing() {
        --w.inside_;
        w.check();
      }
    } then{*this};
    return f(engine_, now_);
  }

  void stop();

  /// Returns the error; empty if there is none.
  std::string command(operator_command x, const std::string& layer = {});
  std::string reconfigure(const std::string& layer);

  /// Other layers are in force from now on. Returns what has changed, a line
  /// each.
  lines swap(layers policies, std::vector<bool> afresh = {});
  /// The same with other settings.
  lines swap_to(detail::next_stack x);
  /// The layers stay, and other workers are made; `changes` says what is
  /// different about them. Returns what has changed.
  lines replace_worker(layers same, const std::string& changes = "other");

  [[nodiscard]] std::int64_t metric(const std::string& name);
  [[nodiscard]] std::size_t live() const { return engine_.live(); }
  [[nodiscard]] const std::set<std::uint64_t>& watched() const {
    return watched_;
  }

  /// What has been written down since the last time.
  lines take() { return std::exchange(log_, {}); }

private:
  struct asked {
    bool expects_reply = true;
    std::uint64_t caller = 0;
    std::uint64_t number = 0;
    time_point deadline = never;
    int answers = 0;
    std::string answer = {};
    permit lease = {};
  };

  std::size_t ask(bool expects_reply, time_point deadline, std::uint64_t caller,
                  std::uint64_t number);
  detail::reply_slot slot_of(std::size_t call) const;
  void check();
  void check_end();
  void note(std::string line);

  // -- implementation of engine_host ------------------------------------------

  std::uint64_t deliver(detail::target_id to, std::uint64_t key,
                        caf::message&& content, bool urgent) override;
  void send_cancelled(detail::target_id to, std::uint64_t number) override;
  void answer(detail::reply_slot to, caf::message&& content) override;
  void wake_at(time_point at) override;
  void send_dead_letter(dead_letter&& x) override;
  void emit(const event& what) override;
  bool has_subscribers() const override { return setup_.listens; }
  void watch_caller(const detail::reply_slot& caller) override;
  void unwatch_caller(std::uint64_t caller) override;
  std::optional<detail::made_worker>
  make_worker(std::uint32_t incarnation) override;
  void forget_worker() override;
  bool is_down(detail::target_id x) const override;
  actor_end end_of(detail::target_id) const override { return end; }
  void worker_given_up(const std::string& why) override;
  void engine_failed(const caf::error& why) override;
  void hold_open(bool busy) override;
  bool send_probe() override;
  detail::target_info add_target(detail::target_id x,
                                 const caf::actor& handle) override;
  void drop_target(detail::target_id x) override;
  void retire_worker(detail::target_id x) override;
  void end_target(detail::target_id x) override;

  world_setup setup_;
  time_point now_ = origin();
  time_point wake_ = never;
  lines log_;
  std::vector<asked> calls_;
  std::size_t open_ = 0;
  /// Who must be answered by when.
  std::set<std::pair<time_point, std::size_t>> deadlines_;
  std::set<std::uint64_t> watched_;
  std::set<detail::target_id> dead_;
  /// The targets of layers that came later, and how many there were.
  std::set<detail::target_id> added_;
  /// Whose death is being reported to the engine.
  std::optional<detail::target_id> dying_;
  std::uint32_t incarnation_ = 0;
  std::uint64_t last_event_ = 0;
  int inside_ = 0;
  bool busy_ = false;
  bool stopped_ = false;
  detail::engine engine_;
};

} // namespace caisson::test
