// Worker of a gate: an actor, or how to make and supervise one.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/answer_adapter.hpp>
#include <caisson/engine/supervision_config.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace caisson {

/// Spawns or respawns a worker, or returns why it cannot.
using worker_factory = std::function<caf::expected<caf::actor>(
  caf::actor_system&)>;

/// The worker of a gate: none, an existing actor (local or remote, a gate or
/// not), or a factory whose actor the gate supervises.
class worker {
public:
  /// No worker: for gates that only lend permits.
  worker() = default;

  /// An existing actor. Once it is down, calls are answered with `worker_down`.
  /// A null handle is down from the start.
  worker(caf::actor handle)
    : handle_(std::move(handle)), existing_actor_(true) {}

  /// An existing actor with a typed interface.
  template <class... Sigs>
  worker(const caf::typed_actor<Sigs...>& handle)
    : worker(caf::actor_cast<caf::actor>(handle)) {}

  /// The gate spawns the worker when it starts, monitors it, respawns it
  /// according to the schedule of `s` when it dies, and stops it when the gate
  /// ends. While there is no worker, at most `s.max_waiting` calls wait.
  static worker supervised(worker_factory make, supervision_config s = {}) {
    worker w;
    w.supervised_ = true;
    w.make_ = std::move(make);
    w.supervision_ = std::move(s);
    return w;
  }

  /// The worker, which must be supervised, stops and starts with others: with
  /// those of the gates in `group`, in the order of their ranks. For gates with
  /// their own mailbox.
  worker&& in_group(supervision_group group, std::uint32_t rank = 0) && {
    grouped_ = true;
    group_ = std::move(group);
    rank_ = rank;
    return std::move(*this);
  }

  /// The factory may block, for instance to connect over the network: it runs
  /// on a thread of its own. Not for virtual time.
  worker&& on_own_thread() && {
    own_thread_ = true;
    return std::move(*this);
  }

  /// The worker is a gate on another node. It gets `call` envelopes and
  /// `cancelled`, and is trusted when it says that a call did not reach a
  /// worker. Gates of the same system are recognised automatically.
  worker&& is_gate() && {
    gate_ = true;
    return std::move(*this);
  }

  /// The worker handles `call` envelopes, which give it the time left.
  worker&& takes_calls() && {
    takes_calls_ = true;
    return std::move(*this);
  }

  /// The worker handles `cancelled`, which it gets when a call to it is
  /// abandoned.
  worker&& takes_cancelled() && {
    takes_cancelled_ = true;
    return std::move(*this);
  }

  /// `f` says what the answers mean, so that all layers act consistently on,
  /// say, an HTTP status in a value: the answer counts as a failure, and the
  /// caller still gets it. It is also asked about the answers of alternatives
  /// and the items of a batch. Several may be given: the first one with an
  /// opinion applies. See docs/answers.md.
  worker&& classified_by(answer_adapter f) && {
    adapter_ = first_adapter_of(std::move(adapter_), std::move(f));
    return std::move(*this);
  }

  /// `to` gets a `dead_letter` for each call that has failed for good, unless
  /// its caller has taken it back, or has ended while it waited. For `which`
  /// calls: plain sends by default, of which nobody learns otherwise. With a
  /// null handle there are none. See docs/gate.md.
  worker&&
  dead_letters_to(caf::actor to,
                  dead_letter_calls which = dead_letter_calls::plain_sends) && {
    dead_letters_to_ = std::move(to);
    dead_letters_ = which;
    return std::move(*this);
  }

  /// The same for an actor with a typed interface, which has to handle
  /// `dead_letter`.
  template <class... Sigs>
  worker&&
  dead_letters_to(const caf::typed_actor<Sigs...>& to,
                  dead_letter_calls which = dead_letter_calls::plain_sends) && {
    return std::move(*this).dead_letters_to(caf::actor_cast<caf::actor>(to),
                                            which);
  }

  /// The existing actor; null if there is none, as for a supervised worker.
  [[nodiscard]] const caf::actor& handle() const noexcept { return handle_; }
  /// Whether it was made from an existing actor, which may be null.
  [[nodiscard]] bool is_existing_actor() const noexcept {
    return existing_actor_;
  }
  /// What makes a supervised worker; empty for others.
  [[nodiscard]] const worker_factory& factory() const noexcept { return make_; }
  /// How it is supervised; the defaults for a worker that is not.
  [[nodiscard]] const supervision_config& supervision() const noexcept {
    return supervision_;
  }
  /// Whether the gate makes it, restarts it and ends it.
  [[nodiscard]] bool is_supervised() const noexcept { return supervised_; }
  /// Whether it is in a supervision group.
  [[nodiscard]] bool is_grouped() const noexcept { return grouped_; }
  /// The supervision group; without effect if `is_grouped` is false.
  [[nodiscard]] const supervision_group& group() const noexcept {
    return group_;
  }
  /// Its rank in the group: lower ones start first and stop last.
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  /// Whether it is declared to be a gate on another node (`is_gate`).
  [[nodiscard]] bool declared_gate() const noexcept { return gate_; }
  /// Whether its factory may block (`on_own_thread`).
  [[nodiscard]] bool runs_on_own_thread() const noexcept { return own_thread_; }
  /// What its answers mean (`classified_by`); empty if nobody says so.
  [[nodiscard]] const answer_adapter& adapter() const noexcept {
    return adapter_;
  }
  /// Who gets dead letters; a null handle if nobody does.
  [[nodiscard]] const caf::actor& dead_letter_receiver() const noexcept {
    return dead_letters_to_;
  }
  /// Which calls are dead letters; nothing: none.
  [[nodiscard]] std::optional<dead_letter_calls> dead_letters() const noexcept {
    if (!dead_letters_to_)
      return std::nullopt;
    return dead_letters_;
  }
  /// Whether it gets `call` envelopes: it takes them, or is a gate.
  [[nodiscard]] bool wants_calls() const noexcept {
    return takes_calls_ || gate_;
  }
  /// Whether it gets `cancelled`: it takes that, or is a gate.
  [[nodiscard]] bool wants_cancelled() const noexcept {
    return takes_cancelled_ || gate_;
  }

private:
  caf::actor handle_;
  worker_factory make_;
  supervision_config supervision_;
  supervision_group group_;
  std::uint32_t rank_ = 0;
  bool grouped_ = false;
  answer_adapter adapter_;
  caf::actor dead_letters_to_;
  dead_letter_calls dead_letters_ = dead_letter_calls::plain_sends;
  bool existing_actor_ = false;
  bool supervised_ = false;
  bool gate_ = false;
  bool own_thread_ = false;
  bool takes_calls_ = false;
  bool takes_cancelled_ = false;
};

} // namespace caisson
