// The part of caf.hpp for objects that live in an actor of the user's: they
// send requests, watch others and have a timer without a handler in the actor's
// behaviour. Included by caf.hpp only.
#pragma once

namespace caisson::portable {

class resident;

/// The address of a resident: what is sent to it is put into its actor's
/// mailbox as an answer to the resident's standing request.
class resident_address final : public relay {
public:
  enum class kind : std::uint64_t { answer, timer, down };

  resident_address(caf::actor_config& cfg, caf::weak_actor_ptr owner,
                   caf::message_id inlet)
    : relay(cfg), owner_(std::move(owner)), inlet_(inlet) {}

  using relay::unwatch;
  using relay::watch;

protected:
  bool receive(caf::mailbox_element_ptr what, run_context* on) override {
    auto key = what->mid.request_id().integer_value();
    if (what->mid.is_response())
      return put(kind::answer, key, content_of(*what), on);
    if (holds_one<caf::down_msg>(*what))
      return put(kind::down, 0, content_of(*what), on);
#if CAISSON_CAF_LEGACY
    // From the clock.
    if (holds_one<caf::timeout_msg>(*what))
      return put(kind::timer, 0, caf::message{}, on);
#else
    if (what->content().empty() && !what->sender)
      return put(kind::timer, 0, caf::message{}, on);
#endif
    return drop(*what);
  }

private:
  bool put(kind what, std::uint64_t key, caf::message content,
           run_context* on) {
    auto owner = caf::actor_cast<caf::strong_actor_ptr>(owner_);
    return owner
           && send(owner, nullptr, inlet_,
                   caf::make_message(static_cast<std::uint64_t>(what), key,
                                     std::move(content)),
                   on);
  }

  const caf::weak_actor_ptr owner_;
  const caf::message_id inlet_;
};

/// Something within an actor that takes part in what the actor gets. Used by
/// that actor alone; ended by `close`, or with the actor.
class resident : public std::enable_shared_from_this<resident> {
public:
  explicit resident(caf::scheduled_actor* self)
    : self_(self),
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
  }

  /// Nothing comes in any more, and the actor is left alone.
  void close() {
    if (std::exchange(closed_, true))
      return;
    set_timer(never);
    static_cast<relay*>(address_->get())->close();
    if (awaits_ || listens_)
      use_up_handler();
    alive_ = nullptr;
  }

protected:
  // -- for the derived class to implement -------------------------------------

  /// The answer to what was forwarded under `key`: its content, which is a
  /// single `caf::error` if it failed.
  virtual void on_answer(std::uint64_t key, caf::message content) = 0;

  /// The timer set by `set_timer` went off (or an earlier one did).
  virtual void on_timer() = 0;

  /// An actor that `watch` was called for has ended.
  virtual void on_down(const caf::actor_addr& who, const caf::error& why) = 0;

  /// The actor is ending.
  virtual void on_end() = 0;

  // -- for the derived class to use -------------------------------------------

  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] caf::scheduled_actor* self() const noexcept { return self_; }

  /// Sends `content` to `dest` as a request, and returns the number under which
  /// the receiver knows it.
  std::uint64_t forward(const caf::actor& dest, std::uint64_t key,
                        caf::message content, bool urgent);

  /// Sends `content` from the address from which the request `number` came.
  void tell_as_sender_of(std::uint64_t number, const caf::actor& dest,
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
  /// a behaviour; if not, what comes may be lost.
  void expect_input(bool wanted);

  /// While this holds, the actor handles nothing but this resident's affairs.
  void suspend_actor(bool on) { suspended_ = on; }

  /// Calls `on_timer` once others have had their turn. Only while input is
  /// expected.
  void call_again();

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

  [[nodiscard]] static caf::behavior
  handler_for(std::shared_ptr<resident> me, std::uint64_t key, bool direct);

  /// `me` keeps this alive through what the derived class does.
  void take(std::shared_ptr<resident> me, std::uint64_t key,
            caf::message content, bool direct);
  void take_input(caf::message content);
  void use_up_handler();
  void end();

  caf::scheduled_actor* const self_;
  const caf::message_id inlet_;
  const caf::strong_actor_ptr address_;
  caf::strong_actor_ptr alive_;
  std::size_t direct_ = 0;
  bool wanted_ = false;
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

// -- requests -----------------------------------------------------------------

#if CAISSON_CAF_LEGACY

// A response handler that takes whatever comes.
class resident::any_content final : public caf::detail::behavior_impl {
public:
  any_content(std::shared_ptr<resident> me, std::uint64_t key, bool direct)
    : me_(std::move(me)), key_(key), direct_(direct) {
    begin_ = end_ = nullptr;
  }

  caf::match_case::result invoke(caf::detail::invoke_result_visitor& f,
                                 caf::type_erased_tuple&) override {
    auto* x = me_.get();
    auto* element = x->self_->current_mailbox_element();
    // It is called once.
    x->take(std::move(me_), key_, element->move_content_to_message(), direct_);
    f();
    return caf::match_case::match;
  }

private:
  std::shared_ptr<resident> me_;
  std::uint64_t key_;
  bool direct_;
};

inline caf::behavior resident::handler_for(std::shared_ptr<resident> me,
                                           std::uint64_t key, bool direct) {
  return caf::behavior{caf::detail::behavior_impl::pointer{
    new any_content(std::move(me), key, direct), false}};
}

#else

inline caf::behavior resident::handler_for(std::shared_ptr<resident> me,
                                           std::uint64_t key, bool direct) {
  auto* x = me.get();
  // A handler for `message` is not shown errors.
  return caf::behavior{[x, me, key, direct](caf::error& err) {
                         x->take(me, key, caf::make_message(std::move(err)),
                                 direct);
                       },
                       [x, me, key, direct](caf::message& content) {
                         x->take(me, key, std::move(content), direct);
                       }};
}

#endif

inline std::uint64_t resident::forward(const caf::actor& dest,
                                       std::uint64_t key, caf::message content,
                                       bool urgent) {
  auto direct = !suspended_ && direct_ < most_direct;
  caf::strong_actor_ptr from = address_;
  caf::message_id id{own_ids | key};
  if (!urgent)
    id = id.with_normal_priority();
  if (direct) {
    ++direct_;
    id = self_->new_request_id(urgent ? caf::message_priority::high
                                      : caf::message_priority::normal);
    self_->add_multiplexed_response_handler(
      id.response_id(), handler_for(shared_from_this(), key, true));
    from = caf::strong_actor_ptr{self_->ctrl()};
  }
  relay::send_on(dest, std::move(from), id, std::move(content),
                 self_->context());
  return id.request_id().integer_value();
}

inline void resident::tell_as_sender_of(std::uint64_t number,
                                        const caf::actor& dest,
                                        caf::message content) {
  auto from = (number & own_ids) != 0 ? address_
                                      : caf::strong_actor_ptr{self_->ctrl()};
  relay::send_on(dest, std::move(from), caf::make_message_id(),
                 std::move(content), self_->context());
}

inline void resident::take([[maybe_unused]] std::shared_ptr<resident> me,
                           std::uint64_t key, caf::message content,
                           bool direct) {
  if (closed_)
    return;
  if (!direct)
    return take_input(std::move(content));
  --direct_;
  on_answer(key, std::move(content));
  listen();
}

// -- the standing request -----------------------------------------------------

inline void resident::take_input(caf::message content) {
  (awaits_ ? awaits_ : listens_) = false;
  using kind = resident_address::kind;
  if (content.match_elements<std::uint64_t, std::uint64_t, caf::message>()) {
    auto key = content.get_as<std::uint64_t>(1);
    auto inner = content.get_as<caf::message>(2);
    switch (static_cast<kind>(content.get_as<std::uint64_t>(0))) {
      case kind::answer:
        on_answer(key & ~own_ids, std::move(inner));
        break;
      case kind::timer:
        on_timer();
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
  if (closed_)
    return;
  if (awaits_ && !suspended_) {
    use_up_handler();
  } else if (suspended_ && !awaits_) {
    awaits_ = true;
    self_->add_awaited_response_handler(
      inlet_, handler_for(shared_from_this(), 0, false));
  } else if (!suspended_ && !listens_ && (wanted_ || self_->has_behavior())) {
    listens_ = true;
    self_->add_multiplexed_response_handler(
      inlet_, handler_for(shared_from_this(), 0, false));
  }
}

inline void resident::call_again() {
  caf::strong_actor_ptr me{self_->ctrl()};
  relay::send_on(
    caf::actor_cast<caf::actor>(me), nullptr, inlet_,
    caf::make_message(static_cast<std::uint64_t>(resident_address::kind::timer),
                      std::uint64_t{0}, caf::message{}),
    self_->context());
}

// CAF takes an actor for one that waits as long as there is a handler for an
// answer: it gets an empty one.
inline void resident::use_up_handler() {
  if (ending_)
    return;
  caf::strong_actor_ptr me{self_->ctrl()};
  // Not by the actor's own thread: it may have left by now.
  relay::send_on(caf::actor_cast<caf::actor>(me), nullptr, inlet_,
                 caf::message{}, nullptr);
}

inline void resident::expect_input(bool wanted) {
  if (closed_ || std::exchange(wanted_, wanted) == wanted)
    return;
  alive_ = wanted ? caf::strong_actor_ptr{self_->ctrl()} : nullptr;
  if (wanted)
    listen();
  else if (listens_ && !self_->has_behavior())
    use_up_handler();
}

inline void resident::end() {
  if (closed_)
    return;
  ending_ = true;
  on_end();
  close();
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
