// The part of hooks.hpp for objects that live in an actor of the user's: they
// send requests, watch others and have a timer without a handler in the actor's
// behaviour. Included by hooks.hpp only.
#pragma once

#include <caisson/base/thread_blocks.hpp>
#include <caisson/caf/detail/resident_list.hpp>

#include <algorithm>

namespace caisson::portable {

/// Something within an actor that takes part in what the actor gets. Used by
/// that actor alone; ended by `close`, or with the actor.
class resident : public std::enable_shared_from_this<resident> {
public:
  explicit resident(caf::scheduled_actor* self)
    : self_(self), weak_self_(self->ctrl()),
      inlet_(self->new_request_id(caf::message_priority::normal).response_id()),
      address_(make_relay<resident_address>(
        self->home_system(),
        self->id() | address_bit
          | inlet_.request_id().integer_value() << number_shift,
        caf::weak_actor_ptr{self->ctrl()}, inlet_)) {}

  resident(const resident&) = delete;
  resident& operator=(const resident&) = delete;

  virtual ~resident() { close(); }

  /// To be called once after the construction: the resident ends with its
  /// actor.
  void move_in() {
    self_->attach_functor([weak = weak_from_this()](const caf::error&) {
      if (auto x = weak.lock())
        x->end();
    });
    if (is_virtual(self_->home_system()))
      resident_list::of(self_->home_system())->add(weak_from_this());
  }

  /// Ends as with its actor.
  void end() {
    if (closed_)
      return;
    ending_ = true;
    on_end();
    close();
  }

  /// Nothing comes in any more, and the actor is left alone.
  void close() {
    if (std::exchange(closed_, true))
      return;
    set_timer(never);
    auto* address = static_cast<resident_address*>(address_->get());
    address->leave_owner();
    address->close();
    if (awaits_ || listens_)
      use_up_handler(inlet_);
    forget_requests();
    alive_ = nullptr;
    weak_self_ = nullptr;
  }

  /// What `wake` takes.
  [[nodiscard]] caf::weak_actor_ptr address() const {
    return caf::weak_actor_ptr{address_.get()};
  }

  /// Has the resident at that address called as if its timer went off, once its
  /// actor comes to it; from any thread. Lost if the resident does not listen:
  /// if it has never expected anything, or expects nothing now and its actor
  /// has no behaviour.
  static void wake(const caf::actor& address) {
#if CAISSON_CAF_LEGACY
    caf::anon_send(address, caf::timeout_msg{caf::atom("caisson"), 0});
#else
    caf::actor_cast<caf::abstract_actor*>(address)->enqueue(
      caf::make_mailbox_element(nullptr, caf::make_message_id(),
                                caf::message{}),
      nullptr);
#endif
  }

protected:
  // -- for the derived class to implement -------------------------------------

  /// The answer to what was forwarded under `key`: its content, which is a
  /// single `caf::error` if it failed.
  virtual void on_answer(std::uint64_t key, caf::message&& content) = 0;

  /// The timer set by `set_timer` went off (or an earlier one did).
  virtual void on_timer() = 0;

  /// What `send_echo` sent has come.
  virtual void on_echo() {}

  /// An actor that `watch` was called for has ended.
  virtual void on_down(const caf::actor_addr& actor, const caf::error& why) = 0;

  /// The actor is ending.
  virtual void on_end() = 0;

  // -- for the derived class to use -------------------------------------------

  [[nodiscard]] bool closed() const noexcept {
    return closed_;
  }
  /// Whether the actor has quit, or this was closed: no handler of the user's
  /// may run any more.
  [[nodiscard]] bool over() const {
    return closed_ || self_->getf(caf::abstract_actor::is_shutting_down_flag);
  }
  [[nodiscard]] caf::scheduled_actor* self() const noexcept {
    return self_;
  }

  /// Sends `content` to `dest` as a request, and returns the number under which
  /// the receiver knows it.
  std::uint64_t forward(const caf::actor& dest, std::uint64_t key,
                        caf::message&& content, bool urgent);

  /// As above, but from an address that ends with this, not with the actor.
  std::uint64_t forward_apart(const caf::actor& dest, std::uint64_t key,
                              caf::message&& content, bool urgent);

  /// Sends `content` from the address from which the request `number` came.
  void send_as_sender_of(std::uint64_t number, const caf::actor& dest,
                         caf::message content);

  /// Asks for `on_timer` at `at` instead of any earlier wish; `never` asks for
  /// none.
  void set_timer(time_point at);

  void watch(const caf::strong_actor_ptr& x) {
    static_cast<resident_address*>(address_->get())->watch(x);
  }
  void unwatch(const caf::strong_actor_ptr& x) {
    static_cast<resident_address*>(address_->get())->unwatch(x);
  }

  /// Whether something is expected: if so, the actor stays alive, also without
  /// a behaviour; if not, what comes may be lost, and an actor without one does
  /// not wait for it.
  void expect_input(bool expects);

  /// While this holds, the actor handles nothing but this resident's affairs.
  void suspend_actor(bool on) {
    suspended_ = on;
  }

  /// Calls `on_timer` once others have had their turn. Only while input is
  /// expected.
  void call_again();

  /// Asks for `on_echo` once the actor has handled what waits in its mailbox
  /// now. Only while input is expected.
  void send_echo();

  /// Identifies a resident of its actor.
  [[nodiscard]] std::uint64_t number() const noexcept {
    return inlet_.request_id().integer_value();
  }

  /// To be called when a handler of the actor's, or a part of this class, has
  /// done what it had to.
  void listen();

private:
  /// Marks the numbers of requests that are sent from the own address.
  static constexpr std::uint64_t own_ids = std::uint64_t{1} << 59;
  static constexpr std::uint64_t address_bit = std::uint64_t{1} << 61;
  static constexpr int number_shift = 40;
  /// CAF looks through the requests of an actor one by one to find the one that
  /// an answer is for: beyond this number, requests use the resident's own
  /// address, which takes a little longer for each.
  static constexpr std::size_t most_direct = 32;

  /// For the answer to the request `id` or, if that is the inlet's, for input.
  [[nodiscard]] static caf::behavior
  handler_for(std::shared_ptr<resident> owner, std::uint64_t key,
              caf::message_id id);

  /// `me` keeps this alive through what the derived class does.
  void take(std::shared_ptr<resident> owner, std::uint64_t key,
            caf::message&& content, caf::message_id id);
  void take_input(caf::message&& content);
  void use_up_handler(caf::message_id id);
  void forget_requests();

  /// The actor; nothing if it is being destroyed because no reference is left:
  /// there must be no new one then.
  [[nodiscard]] caf::strong_actor_ptr strong_self() const {
    return caf::actor_cast<caf::strong_actor_ptr>(weak_self_);
  }

  /// The thread that runs the actor. An end comes from elsewhere, too, and then
  /// the thread of the actor's last run may be gone.
  [[nodiscard]] portable::run_context* run() const {
    return ending_ ? nullptr : self_->context();
  }

  caf::scheduled_actor* const self_;
  caf::weak_actor_ptr weak_self_;
  const caf::message_id inlet_;
  const caf::strong_actor_ptr address_;
  caf::strong_actor_ptr alive_;
  /// The responses to requests that the actor itself has sent.
  std::vector<caf::message_id> direct_;
  bool expects_input_ = false;
  bool suspended_ = false;
  bool listens_ = false;
  bool awaits_ = false;
  bool closed_ = false;
  bool ending_ = false;
#if !CAISSON_CAF_LEGACY
  caf::disposable timer_;
#endif

#if CAISSON_CAF_LEGACY
  class any_content;
#endif
};

inline void resident_list::end_all() {
  for (const auto& weak : std::exchange(known_, {}))
    if (auto x = weak.lock())
      x->end();
}

// -- requests -----------------------------------------------------------------

#if CAISSON_CAF_LEGACY

// A response handler that takes whatever comes.
class resident::any_content final : public caf::detail::behavior_impl {
public:
  any_content(std::shared_ptr<resident> owner, std::uint64_t key,
              caf::message_id id)
    : owner_(std::move(owner)), key_(key), id_(id) {
    begin_ = end_ = nullptr;
  }

  static void* operator new(std::size_t n) {
    return caisson::detail::thread_blocks::take(n);
  }
  static void operator delete(void* p, std::size_t n) noexcept {
    caisson::detail::thread_blocks::give_back(p, n);
  }

  caf::match_case::result invoke(caf::detail::invoke_result_visitor& f,
                                 caf::type_erased_tuple&) override {
    auto* x = owner_.get();
    auto* element = x->self_->current_mailbox_element();
    // It is called once.
    x->take(std::move(owner_), key_, element->move_content_to_message(), id_);
    f();
    return caf::match_case::match;
  }

private:
  std::shared_ptr<resident> owner_;
  std::uint64_t key_;
  caf::message_id id_;
};

inline caf::behavior resident::handler_for(std::shared_ptr<resident> owner,
                                           std::uint64_t key,
                                           caf::message_id id) {
  return caf::behavior{caf::detail::behavior_impl::pointer{
    new any_content(std::move(owner), key, id), false}};
}

#else

inline caf::behavior resident::handler_for(std::shared_ptr<resident> owner,
                                           std::uint64_t key,
                                           caf::message_id id) {
  auto* x = owner.get();
  // A handler for `message` is not shown errors.
  return caf::behavior{[x, owner, key, id](caf::error& err) {
                         x->take(owner, key, caf::make_message(std::move(err)),
                                 id);
                       },
                       [x, owner, key, id](caf::message& content) {
                         x->take(owner, key, std::move(content), id);
                       }};
}

#endif

inline std::uint64_t resident::forward(const caf::actor& dest,
                                       std::uint64_t key,
                                       caf::message&& content, bool urgent) {
  // Whoever got a request from an actor that is not complete would refer to
  // freed memory if its constructor throws.
  auto direct = !suspended_ && direct_.size() < most_direct && !over()
                && self_->getf(caf::abstract_actor::is_initialized_flag);
  auto from = direct ? strong_self() : nullptr;
  if (!from)
    return forward_apart(dest, key, std::move(content), urgent);
  auto id = self_->new_request_id(urgent ? caf::message_priority::high
                                         : caf::message_priority::normal);
  direct_.push_back(id.response_id());
  self_->add_multiplexed_response_handler(
    direct_.back(), handler_for(shared_from_this(), key, direct_.back()));
  relay::send_on(dest, std::move(from), id, std::move(content), run());
  return id.request_id().integer_value();
}

inline std::uint64_t
resident::forward_apart(const caf::actor& dest, std::uint64_t key,
                        caf::message&& content, bool urgent) {
  caf::message_id id{own_ids | key};
  if (!urgent)
    id = id.with_normal_priority();
  relay::send_on(dest, address_, id, std::move(content), run());
  return id.request_id().integer_value();
}

inline void resident::send_as_sender_of(std::uint64_t number,
                                        const caf::actor& dest,
                                        caf::message content) {
  // Nobody holds a request of an actor that nobody refers to.
  if (auto from = (number & own_ids) != 0 ? address_ : strong_self())
    relay::send_on(dest, std::move(from), caf::make_message_id(),
                   std::move(content), run());
}

inline void resident::take([[maybe_unused]] std::shared_ptr<resident> owner,
                           std::uint64_t key, caf::message&& content,
                           caf::message_id id) {
  if (closed_)
    return;
  if (id == inlet_)
    return take_input(std::move(content));
  auto known = std::find(direct_.begin(), direct_.end(), id);
  if (known == direct_.end())
    return;
  *known = direct_.back();
  direct_.pop_back();
  on_answer(key, std::move(content));
  listen();
}

// -- the standing request -----------------------------------------------------

inline void resident::take_input(caf::message&& content) {
  (awaits_ ? awaits_ : listens_) = false;
  using kind = resident_address::kind;
  if (content.match_elements<std::uint64_t, std::uint64_t, caf::message>()) {
    auto key = content.get_as<std::uint64_t>(1);
    auto inner = portable::take<caf::message>(content, 2);
    switch (static_cast<kind>(content.get_as<std::uint64_t>(0))) {
      case kind::answer:
        on_answer(key & ~own_ids, std::move(inner));
        break;
      case kind::timer:
        on_timer();
        break;
      case kind::echo:
        if (self_->current_sender().get() == self_->ctrl())
          on_echo();
        break;
      case kind::down: {
        const auto& what = inner.get_as<caf::down_msg>(0);
        on_down(what.source, what.reason);
        break;
      }
    }
  }
  listen();
}

inline void resident::listen() {
  // CAF takes an actor that has quit and gets a handler for one that lives.
  if (over())
    return;
  if (awaits_ && !suspended_) {
    use_up_handler(inlet_);
  } else if (suspended_ && !awaits_) {
    awaits_ = true;
    self_->add_awaited_response_handler(
      inlet_, handler_for(shared_from_this(), 0, inlet_));
  } else if (!suspended_ && !listens_
             && (expects_input_ || self_->has_behavior())) {
    listens_ = true;
    self_->add_multiplexed_response_handler(
      inlet_, handler_for(shared_from_this(), 0, inlet_));
  }
}

inline void resident::call_again() {
  using kind = resident_address::kind;
  if (auto owner = strong_self())
    relay::send_on(caf::actor_cast<caf::actor>(owner), nullptr, inlet_,
                   caf::make_message(static_cast<std::uint64_t>(kind::timer),
                                     std::uint64_t{0}, caf::message{}),
                   run());
}

inline void resident::send_echo() {
  using kind = resident_address::kind;
  if (auto owner = strong_self())
    relay::send_on(caf::actor_cast<caf::actor>(owner), owner, inlet_,
                   caf::make_message(static_cast<std::uint64_t>(kind::echo),
                                     std::uint64_t{0}, caf::message{}),
                   run());
}

// CAF takes an actor for one that waits as long as there is a handler for an
// answer: it gets an empty one.
inline void resident::use_up_handler(caf::message_id id) {
  if (ending_)
    return;
  // Not by the actor's own thread: it may have left by now.
  if (auto owner = strong_self())
    relay::send_on(caf::actor_cast<caf::actor>(owner), nullptr, id,
                   caf::message{}, nullptr);
}

inline void resident::forget_requests() {
  for (auto id : std::exchange(direct_, {}))
    use_up_handler(id);
}

inline void resident::expect_input(bool expects) {
  if (over() || std::exchange(expects_input_, expects) == expects)
    return;
  alive_ = expects ? strong_self() : nullptr;
  if (expects)
    return listen();
  auto waits = self_->has_behavior();
  if (listens_ && !waits)
    use_up_handler(inlet_);
  // Those of attempts that are over: their answers are of no use, but where
  // they do no harm they are counted.
  if (!waits || direct_.size() == most_direct)
    forget_requests();
}

inline void resident::set_timer(time_point at) {
#if CAISSON_CAF_LEGACY
  constexpr auto type = caf::atom("caisson");
  if (at == never)
    self_->clock().cancel_ordinary_timeout(address_->get(), type);
  else
    self_->clock().set_ordinary_timeout(at, address_->get(), type, 0);
#else
  timer_.dispose();
  timer_ = {};
  if (at != never)
    timer_ = self_->clock().schedule_message(
      at, caf::actor_cast<caf::weak_actor_ptr>(address_),
      caf::make_mailbox_element(nullptr, caf::make_message_id(),
                                caf::message{}));
#endif
}

} // namespace caisson::portable
