// The part of hooks.hpp through which a gate sees every message and every
// answer without knowing their types. Included by hooks.hpp only.
#pragma once

#include <caisson/caf/detail/down_watch.hpp>

namespace caisson::portable {

/// Where the answer to a message goes. Move-only: exactly one copy exists, so
/// that nothing is answered twice.
class reply_to {
public:
  reply_to() = default;
  reply_to(reply_to&&) noexcept = default;
  reply_to& operator=(reply_to&&) noexcept = default;

  /// Whether an answer is wanted: the message was a request, and it was not
  /// answered yet.
  [[nodiscard]] bool expects_reply() const noexcept { return expects_reply_; }

  /// The sender of the message; null if there is none.
  [[nodiscard]] const caf::strong_actor_ptr& sender() const noexcept {
    return sender_;
  }

  /// Whether the message came with high priority.
  [[nodiscard]] bool urgent() const noexcept { return id_.is_urgent_message(); }

  /// The number of the message among those of its sender.
  [[nodiscard]] std::uint64_t number() const noexcept {
    return id_.request_id().integer_value();
  }

  /// Takes what is needed for an answer out of `x`.
  explicit reply_to(caf::mailbox_element& x)
    : sender_(std::move(x.sender)), id_(x.mid) {
    expects_reply_ = id_.is_request() && sender_;
#if CAISSON_CAF_LEGACY
    stages_ = std::move(x.stages);
    expects_reply_ = expects_reply_ || (id_.is_request() && !stages_.empty());
#endif
  }

  /// Sends `msg` as the answer. Does nothing if none is wanted.
  void answer(caf::local_actor* self, caf::message msg) {
    answer(self->context(), std::move(msg));
  }

  /// As above, for callers that are not actors.
  ///
  /// The answer names no sender. Its receiver matches it by its number, an
  /// actor that is being destroyed must not make new references to itself, and
  /// CAF lets another node address every actor that has sent it something.
  void answer(run_context* on, caf::message&& msg) {
    if (!std::exchange(expects_reply_, false))
      return;
#if CAISSON_CAF_LEGACY
    if (!stages_.empty()) {
      auto next = std::move(stages_.back());
      stages_.pop_back();
      next->enqueue(caf::make_mailbox_element(std::move(sender_), id_,
                                              std::move(stages_),
                                              std::move(msg)),
                    on);
      return;
    }
    sender_->enqueue(nullptr, id_.response_id(), std::move(msg), on);
#else
    sender_->enqueue(
      caf::make_mailbox_element(nullptr, id_.response_id(), std::move(msg)),
      on);
#endif
    sender_ = nullptr;
  }

private:
  caf::strong_actor_ptr sender_;
#if CAISSON_CAF_LEGACY
  std::vector<caf::strong_actor_ptr> stages_;
#endif
  caf::message_id id_;
  bool expects_reply_ = false;
};

/// An actor that handles the message types `Control...` by the handlers of
/// `control()` and is shown every other message, of whatever type, by
/// `on_message`, and every answer to what it forwarded by `on_answer`.
///
/// On 0.17 this overrides `consume`, which costs a third of what a promise and
/// a response handler per call would; on 1.x, where that is no longer virtual,
/// it uses the public handlers for `message`.
template <class... Control>
class interceptor : public caf::event_based_actor {
public:
  using super = caf::event_based_actor;

  explicit interceptor(caf::actor_config& cfg)
    : super(cfg),
      return_address_(make_relay<return_address>(*this, return_address::id_bit,
                                                 caf::weak_actor_ptr{ctrl()})) {
  }

  /// To be called by overrides, too.
  void on_exit() override {
    set_timer(never);
    static_cast<relay*>(return_address_->get())->close();
  }

protected:
  // -- for the derived class to implement -------------------------------------

  /// Handlers for the types `Control...`.
  virtual caf::message_handler control() = 0;

  /// A message that is none of `Control...`.
  virtual void on_message(reply_to from, caf::message&& content) = 0;

  /// The answer to the message forwarded under `key`: its content, which is a
  /// single `caf::error` if it failed.
  virtual void on_answer(std::uint64_t key, caf::message&& content) = 0;

  /// The timer set by `set_timer` went off (or an earlier one did).
  virtual void on_timer() = 0;

  /// What `send_echo` sent has come.
  virtual void on_echo() {}

  /// An actor that `watch` was called for has ended.
  virtual void on_down(const caf::actor_addr& actor, const caf::error& why) = 0;

  // -- for the derived class to use -------------------------------------------

  /// Keys have at most 59 bits and must not repeat while the answer to the
  /// first use may still come.
  static constexpr std::uint64_t key_bits = 59;

  /// Marks the ids of forwarded messages: CAF counts its own request ids up
  /// from 1 and never gets here.
  static constexpr std::uint64_t own_ids = return_address::request_bit;
  static_assert(own_ids == std::uint64_t{1} << key_bits);

  /// Sends `content` to `dest` as a request. Its sender is an address of this
  /// actor that takes answers and nothing else, and that does not keep this
  /// actor alive.
  void forward(const caf::actor& dest, std::uint64_t key, caf::message content,
               bool urgent);

  /// Asks for `on_echo` once the messages of normal priority have been handled
  /// that wait in this actor's mailbox now.
  void send_echo();

  /// Sends `content` to `dest` from the address that `forward` uses.
  void send_from_return_address(const caf::actor& dest, caf::message content);

  /// Asks for `on_timer` at `at` instead of any earlier wish; `never` asks for
  /// none. The wish does not keep this actor alive.
  void set_timer(time_point at);

  /// The number under which the receiver of `forward` knows the message.
  static std::uint64_t call_number(std::uint64_t key) { return own_ids | key; }

#if CAISSON_CAF_LEGACY

public:
  using super::consume;

  caf::invoke_message_result consume(caf::mailbox_element& x) override {
    current_element_ = &x;
    if (x.mid.is_response()) {
      auto id = x.mid.request_id().integer_value();
      if ((id & own_ids) == 0)
        return super::consume(x);
      on_answer(id & ~own_ids, x.move_content_to_message());
      return caf::invoke_message_result::consumed;
    }
    auto& content = x.content();
    if (auto token = content.type_token();
        token == caf::make_type_token<caf::timeout_msg>()) {
      // Stale ones are harmless: the handler looks at the clock.
      on_timer();
      return caf::invoke_message_result::consumed;
    } else if (is_system(token)) {
      return super::consume(x);
    }
    if (control_type_(content) != control_type_.none)
      return super::consume(x);
    if (is_echo(x.sender)) [[unlikely]]
      on_echo();
    else
      on_message(reply_to{x}, x.move_content_to_message());
    return caf::invoke_message_result::consumed;
  }

protected:
  caf::behavior make_behavior() override {
    set_down_handler([this](caf::down_msg& x) {
      // Any actor may send such a message.
      if (!portable::is_down(x.source))
        return;
      watched_.erase(portable::identity_of(x.source));
      on_down(x.source, x.reason);
    });
    // An error sent to an actor ends it; a proxy must not die from a message
    // for its worker.
    set_error_handler([](caf::error&){});
    return control();
  }

  /// Asks for `on_down` once `x` has ended; at once if it has already.
  void watch(const caf::strong_actor_ptr& x) {
    watched_[portable::identity_of(x)] = portable::down_watch::begin(
      x, this->address());
  }

  void unwatch(const caf::actor_addr& x) {
    auto known = watched_.extract(portable::identity_of(x));
    if (!known.empty())
      known.mapped()->end(caf::actor_cast<caf::strong_actor_ptr>(x));
  }

private:
  type_finder<Control...> control_type_;
  std::map<const void*, std::shared_ptr<portable::down_watch>> watched_;

  static bool is_system(std::uint32_t token) {
    return token == caf::make_type_token<caf::exit_msg>()
           || token == caf::make_type_token<caf::down_msg>()
           || token == caf::make_type_token<caf::error>()
           || token == caf::make_type_token<caf::open_stream_msg>()
           || token
                == caf::make_type_token<caf::atom_value, caf::atom_value,
                                        std::string>();
  }
#else

protected:
  caf::behavior make_behavior() override {
    set_error_handler_portably();
    return control().or_else([this](caf::message& x) { return take(x); });
  }

  void watch(const caf::strong_actor_ptr& x) {
    auto addr = caf::actor_cast<caf::actor_addr>(x);
    auto token = this->monitor(caf::actor_cast<caf::actor>(x),
                               [this, addr](const caf::error& why) {
                                 watched_.erase(portable::identity_of(addr));
                                 on_down(addr, why);
                               });
    watched_[portable::identity_of(addr)] = std::move(token);
  }

  void unwatch(const caf::actor_addr& x) {
    if (auto i = watched_.find(portable::identity_of(x)); i != watched_.end()) {
      i->second.dispose();
      watched_.erase(i);
    }
  }

private:
  caf::delegated<caf::message> take(caf::message& content) {
    auto& x = *current_mailbox_element();
    if (return_address::is_passed_on(x, return_address_))
      on_answer(x.mid.request_id().integer_value() & ~own_ids,
                portable::take<caf::message>(content));
    else if (is_echo(x.sender)) [[unlikely]]
      on_echo();
    else
      on_message(reply_to{x}, std::move(content));
    return {};
  }

  void set_error_handler_portably() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    set_error_handler([](caf::error&) {});
#pragma GCC diagnostic pop
  }

  caf::disposable timer_;

  std::map<const void*, caf::disposable> watched_;
#endif

private:
  // Nothing else is sent in this actor's own name to itself.
  bool is_echo(const caf::strong_actor_ptr& from) const {
    return from.get() == this->ctrl();
  }

  const caf::strong_actor_ptr return_address_;
};

template <class... Control>
void interceptor<Control...>::forward(const caf::actor& dest, std::uint64_t key,
                                      caf::message content, bool urgent) {
  caf::message_id id{own_ids | key};
  if (!urgent)
    id = id.with_normal_priority();
  relay::send_on(dest, return_address_, id, std::move(content), context());
}

template <class... Control>
void interceptor<Control...>::send_from_return_address(const caf::actor& dest,
                                                       caf::message content) {
  relay::send_on(dest, return_address_, caf::make_message_id(),
                 std::move(content), context());
}

template <class... Control>
void interceptor<Control...>::send_echo() {
  caf::strong_actor_ptr self{ctrl()};
  relay::send_on(caf::actor_cast<caf::actor>(self), self,
                 caf::make_message_id(), caf::message{}, context());
}

template <class... Control>
void interceptor<Control...>::set_timer(time_point at) {
#if CAISSON_CAF_LEGACY
  // An "ordinary" timeout: the clock keeps at most one per actor and type, and
  // a new one replaces the old one.
  constexpr auto type = caf::atom("caisson");
  if (at == never)
    clock().cancel_ordinary_timeout(return_address_->get(), type);
  else
    clock().set_ordinary_timeout(at, return_address_->get(), type, 0);
#else
  timer_.dispose();
  timer_ = {};
  if (at != never)
    timer_ = run_scheduled_weak(at, [this] { on_timer(); });
#endif
}

} // namespace caisson::portable
