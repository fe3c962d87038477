// A worker that works on a bounded number of messages at once, and queues a
// bounded number of further ones.
#pragma once

#include <caisson/adapters/detail/pool_plan.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/transport_errc.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace caisson::detail {

/// A message whose only element is that error.
[[nodiscard]] caf::message failed_with(transport_errc code,
                                       std::string text = {});

/// Takes messages as they are and in the envelope `call`, keeps their
/// deadlines, answers each once, and forgets those that are `cancelled`. The
/// derived class works on those that are begun.
class queued_worker : public portable::interceptor<cancelled> {
public:
  using job = pool_plan::job;

  struct limits {
    /// How many messages are worked on at once; places are numbered from 0 on.
    std::size_t places;
    std::size_t max_waiting;
    /// How long a message may take at most.
    duration max_time;
    /// After that time without work `end_place` is called.
    duration idle_timeout;
  };

  queued_worker(caf::actor_config& cfg, const limits& x);

  /// Answers all: what waits with `stopped`, what was begun with `lost`.
  void on_exit() override;

protected:
  struct result {
    /// A value, or a single `caf::error`.
    caf::message answer;
    /// Whether this worker ends: what waits is answered with `stopped`, and
    /// what was begun is finished.
    bool ends = false;
  };

  // -- for the derived class to implement -------------------------------------

  /// Begins to work on the message: its deadline is `options.deadline_ns`. It
  /// must `forward` something with the number of the job as key, whose answer
  /// goes to `finish`. Returns false if it cannot, which is answered with
  /// `busy`.
  virtual bool begin(job n, std::size_t place, call& what) = 0;

  /// What is to be answered, given the answer to what was forwarded.
  virtual result finish(std::size_t place, caf::message&& content) = 0;

  /// The message needs no answer any more, and is to end soon.
  virtual void interrupt(job n, std::size_t place) = 0;

  /// The place has had no work for some time, or the worker ends.
  virtual void end_place(std::size_t place) = 0;

  caf::message_handler control() override;
  void on_message(portable::reply_to from, caf::message&& content) override;
  void on_answer(std::uint64_t key, caf::message&& content) override;
  void on_timer() override;
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  struct held {
    portable::reply_to from;
    call what;
    bool cancelled = false;
  };

  // Who has sent it, and the number among the sender's messages.
  using number = std::pair<const void*, std::uint64_t>;
  using held_jobs = std::unordered_map<job, held>;

  static number key_of(const portable::reply_to& x) {
    return {portable::identity_of(x.sender()), x.number()};
  }

  [[nodiscard]] time_point due(const call_options& o, time_point now) const;
  void go_on();
  void start(const pool_plan::start& x);
  void cancel(job n);
  void end_waiting();
  void refuse(job n, transport_errc why);
  void answer(held_jobs::iterator i, caf::message content);

  pool_plan plan_;
  duration max_time_;
  // How many places were used so far.
  std::size_t used_ = 0;
  held_jobs jobs_;
  std::map<number, job> numbers_;
  bool ending_ = false;
  bool leaving_ = false;
};

} // namespace caisson::detail
