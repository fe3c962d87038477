// The only header that includes CAF (caf_io.hpp adds its network), and the only
// one that depends on the version of CAF.
//
// Supported: CAF 0.17.6 (Debian, Ubuntu) and CAF 1.x. The rest of Caisson uses
// the names below. docs/caf.md says what was tested with which version.
#pragma once

#include <caf/all.hpp>
#include <caf/default_attachable.hpp>

#if CAF_MAJOR_VERSION < 1
/// 1 with CAF 0.17, 0 with CAF 1.x.
#define CAISSON_CAF_LEGACY 1
#include <caf/detail/sync_request_bouncer.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#else
#define CAISSON_CAF_LEGACY 0
#include <caf/actor_registry.hpp>
#include <caf/detail/sync_request_bouncer.hpp>
#include <caf/detail/test_coordinator.hpp>
#include <caf/init_global_meta_objects.hpp>
#endif

#include <caisson/base/hash.hpp>
#include <caisson/base/time.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::portable {

/// A request without a timeout.
inline constexpr duration no_timeout = unlimited;

// -- message interfaces -------------------------------------------------------

// sig<R(Args...)> writes one entry of a typed interface for both versions of
// CAF.
template <class F>
struct sig_trait;

#if CAISSON_CAF_LEGACY
template <class R, class... Ts>
struct sig_trait<R(Ts...)> {
  using type = typename caf::replies_to<Ts...>::template with<R>;
};
template <class... Ts>
struct sig_trait<void(Ts...)> {
  using type = caf::reacts_to<Ts...>;
};
#else
template <class R, class... Ts>
struct sig_trait<R(Ts...)> {
  using type = caf::result<R>(Ts...);
};
#endif

template <class F>
using sig = typename sig_trait<F>::type;

// -- type registration --------------------------------------------------------

/// Call before the config is constructed; a no-op on 0.17.
template <class... Blocks>
void init_types() {
#if !CAISSON_CAF_LEGACY
  caf::core::init_global_meta_objects();
  (caf::init_global_meta_objects<Blocks>(), ...);
#endif
}

/// Call on the config; a no-op on 1.x.
template <class... Blocks>
void add_types([[maybe_unused]] caf::actor_system_config& cfg) {
#if CAISSON_CAF_LEGACY
  (cfg.add_message_types<Blocks>(), ...);
#endif
}

// -- sending ------------------------------------------------------------------

/// A plain send from `self`.
template <class Self, class Dest, class... Ts>
void send(Self&& self, const Dest& dest, Ts&&... xs) {
#if CAISSON_CAF_LEGACY
  self->send(dest, std::forward<Ts>(xs)...);
#else
  self->mail(std::forward<Ts>(xs)...).send(dest);
#endif
}

/// A plain send without a sender.
template <class Dest, class... Ts>
void send_anon(const Dest& dest, Ts&&... xs) {
#if CAISSON_CAF_LEGACY
  caf::anon_send(dest, std::forward<Ts>(xs)...);
#else
  caf::anon_mail(std::forward<Ts>(xs)...).send(dest);
#endif
}

/// A plain send of an existing message.
template <class Self>
void post(Self* self, const caf::actor& dest, caf::message msg) {
#if CAISSON_CAF_LEGACY
  self->send(dest, std::move(msg));
#else
  self->mail(std::move(msg)).send(dest);
#endif
}

/// For calls to an actor from outside its handlers: resets the thread that last
/// ran it, which no longer exists in virtual time.
template <class Self>
void forget_context(Self* self) {
  self->context(nullptr);
}

/// Delivers a message to `self` after `delay`. It cannot be cancelled, and
/// keeps `self` alive until then.
template <class Self, class... Ts>
void later(Self* self, duration delay, Ts&&... xs) {
#if CAISSON_CAF_LEGACY
  self->delayed_send(self, delay, std::forward<Ts>(xs)...);
#else
  self->mail(std::forward<Ts>(xs)...).delay(delay).send(self);
#endif
}

// -- identity -----------------------------------------------------------------

/// What `x` refers to, as long as any reference to it is kept. Addresses of two
/// proxies of the same remote actor are equal; their identities are not.
inline const void* identity_of(const caf::strong_actor_ptr& x) {
  return x.get();
}

/// The same of an address, even if its actor has ended.
inline const void* identity_of(const caf::actor_addr& x) {
  return caf::actor_cast<caf::weak_actor_ptr>(x).get();
}

/// The same of a handle.
inline const void* identity_of(const caf::actor& x) {
  return identity_of(caf::actor_cast<caf::strong_actor_ptr>(x));
}

// -- request and response -----------------------------------------------------

namespace detail {

#if CAISSON_CAF_LEGACY
inline caf::duration legacy_timeout(duration d) {
  return d == no_timeout ? caf::duration{} : caf::duration{d};
}

template <class T>
struct lambda_args : lambda_args<decltype(&T::operator())> {};
template <class C, class R, class... Ts>
struct lambda_args<R (C::*)(Ts...)> {
  using type = void(Ts...);
};
template <class C, class R, class... Ts>
struct lambda_args<R (C::*)(Ts...) const> {
  using type = void(Ts...);
};

// Wraps a response handler so that it first removes the request's timeout from
// the clock: 0.17 leaves it there until it expires.
template <class Self, class F, class Sig = typename lambda_args<F>::type>
struct completion;
template <class Self, class F, class... Ts>
struct completion<Self, F, void(Ts...)> {
  Self* self;
  caf::message_id id;
  F f;
  void operator()(Ts... xs) {
    self->clock().cancel_request_timeout(self, id);
    f(std::forward<Ts>(xs)...);
  }
};

template <class Self, class Handle>
struct pending {
  Self* self;
  Handle handle;
  bool armed;
  template <class F, class G>
  void then(F f, G g) {
    if (!armed)
      return handle.then(std::move(f), std::move(g));
    auto id = handle.id();
    handle.then(completion<Self, F>{self, id, std::move(f)}, std::move(g));
  }
};
#endif

} // namespace detail

/// ask(self, dest, timeout, xs...).then(on_value, on_error): a request whose
/// timeout leaves nothing behind once it is answered.
template <class Self, class Dest, class... Ts>
[[nodiscard]] auto ask(Self* self, const Dest& dest, duration timeout,
                       Ts&&... xs) {
#if CAISSON_CAF_LEGACY
  auto handle = self->request(dest, detail::legacy_timeout(timeout),
                              std::forward<Ts>(xs)...);
  return detail::pending<Self, decltype(handle)>{self, handle,
                                                 timeout != no_timeout};
#else
  return self->mail(std::forward<Ts>(xs)...)
    .request(dest,
             timeout == no_timeout ? caf::timespan{caf::infinite} : timeout);
#endif
}

/// ask_blocking(scoped, dest, timeout, xs...).receive(on_value, on_error).
template <class Dest, class... Ts>
[[nodiscard]] auto ask_blocking(caf::scoped_actor& self, const Dest& dest,
                                duration timeout, Ts&&... xs) {
#if CAISSON_CAF_LEGACY
  return self->request(dest, detail::legacy_timeout(timeout),
                       std::forward<Ts>(xs)...);
#else
  return self->mail(std::forward<Ts>(xs)...)
    .request(dest,
             timeout == no_timeout ? caf::timespan{caf::infinite} : timeout);
#endif
}

/// As `ask_blocking`, but handled before messages of normal priority.
template <class Dest, class... Ts>
[[nodiscard]] auto ask_urgently(caf::scoped_actor& self, const Dest& dest,
                                duration timeout, Ts&&... xs) {
#if CAISSON_CAF_LEGACY
  return self->template request<caf::message_priority::high>(
    dest, detail::legacy_timeout(timeout), std::forward<Ts>(xs)...);
#else
  return self->mail(std::forward<Ts>(xs)...)
    .urgent()
    .request(dest,
             timeout == no_timeout ? caf::timespan{caf::infinite} : timeout);
#endif
}

} // namespace caisson::portable

#include <caisson/caf/detail/content.hpp>

namespace caisson::portable {

// -- errors -------------------------------------------------------------------

/// The name of an error's category: on 0.17 its registered atom (`system`
/// becomes `system_error`), on 1.x the name of the enumeration (`caf::sec`
/// becomes `system_error`).
inline std::string category_of(const caf::error& err) {
#if CAISSON_CAF_LEGACY
  auto name = to_string(err.category());
  return name == "system" ? "system_error" : name;
#else
  if (err.category() == caf::type_id_v<caf::sec>)
    return "system_error";
  return std::string{caf::query_type_name(err.category())};
#endif
}

/// `err` as text for people.
inline std::string render([[maybe_unused]] const caf::actor_system& sys,
                          const caf::error& err) {
#if CAISSON_CAF_LEGACY
  return sys.render(err);
#else
  return to_string(err);
#endif
}

/// Whether this is CAF's error for a dead receiver.
inline bool is_receiver_down(const caf::error& err) {
  return err == caf::sec::request_receiver_down;
}

// -- actors and the system ----------------------------------------------------

/// Whether the actor behind the handle has ended or is ending. For a remote
/// actor: whether its node is known to be gone.
inline bool is_down(const caf::actor& x) {
  using base = caf::abstract_actor;
  return x->getf(base::is_terminated_flag)
         || x->getf(base::is_shutting_down_flag);
}

/// The same of an address; also if the actor's memory has been freed.
inline bool is_down(const caf::actor_addr& x) {
  auto actor = caf::actor_cast<caf::actor>(x);
  return !actor || is_down(actor);
}

/// Whether the actor is one of another node; false for null.
inline bool is_remote(const caf::actor_system& sys,
                      const caf::strong_actor_ptr& x) {
  return x && x->node() != sys.node();
}

/// Whether the system runs in virtual time, on CAF's testing scheduler.
inline bool is_virtual(const caf::actor_system& sys) {
#if CAISSON_CAF_LEGACY
  auto& scheduler = const_cast<caf::actor_system&>(sys).scheduler();
  return dynamic_cast<caf::scheduler::test_coordinator*>(&scheduler) != nullptr;
#else
  return caf::get_or(sys.config(), "caf.scheduler.policy", std::string{})
         == "testing";
#endif
}

/// Sets how many threads run the actors of the system to be built from `cfg`.
inline void set_threads(caf::actor_system_config& cfg, std::size_t n) {
#if CAISSON_CAF_LEGACY
  cfg.set("scheduler.max-threads", n);
#else
  cfg.set("caf.scheduler.max-threads", n);
#endif
}

/// Has the threads of the system to be built from `cfg` wait for work together
/// instead of each looking for its own. For systems that are idle most of the
/// time: a message that comes is handled at once, and not after up to 10 ms.
inline void share_work(caf::actor_system_config& cfg) {
#if CAISSON_CAF_LEGACY
  cfg.set("scheduler.policy", caf::atom("sharing"));
#else
  cfg.set("caf.scheduler.policy", "sharing");
#endif
}

/// The number of actors that are alive, without hidden ones.
inline std::size_t running(const caf::actor_system& sys) {
  return const_cast<caf::actor_system&>(sys).registry().running();
}

#if CAISSON_CAF_LEGACY
/// The key in CAF's registry for any name. 0.17 names registered actors by
/// atoms: at most ten characters. A longer name is registered under its hash,
/// which is outside the range of readable atoms.
inline caf::atom_value registry_key(std::string_view name) {
  constexpr std::string_view alphabet
    = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  if (name.size() <= 10
      && name.find_first_not_of(alphabet) == std::string_view::npos)
    return caf::atom_from_string({name.data(), name.size()});
  return static_cast<caf::atom_value>(caisson::detail::fnv1a(name)
                                      | (std::uint64_t{1} << 63));
}
#else
inline std::string registry_key(std::string_view name) {
  return std::string{name};
}
#endif

/// Calls `f` in `self` once `x` has ended; for actors that monitor no other.
template <class Self, class F>
void on_down(Self* self, const caf::strong_actor_ptr& x, F f) {
#if CAISSON_CAF_LEGACY
  // Any actor may send such a message.
  self->set_down_handler([f, actor = x->address()](caf::down_msg& m) {
    if (m.source == actor && is_down(actor))
      f();
  });
  self->monitor(x->get());
#else
  self->monitor(caf::actor_cast<caf::actor>(x),
                [f](const caf::error&) { f(); });
#endif
}

/// Registers an actor by name with the system, which then holds a reference to
/// it.
inline void put_name(caf::actor_system& sys, std::string_view name,
                     const caf::actor& x) {
  sys.registry().put(registry_key(name), x);
}

/// Ends the registration of that name, and gives up the system's reference.
/// Does nothing if there is none.
inline void erase_name(caf::actor_system& sys, std::string_view name) {
  sys.registry().erase(registry_key(name));
}

/// The actor registered by that name, or a null handle.
inline caf::actor find_name(caf::actor_system& sys, std::string_view name) {
  return sys.registry().get<caf::actor>(registry_key(name));
}

/// Whether the message that `self` is handling is a request.
template <class Self>
bool handles_request(Self* self) {
  auto* element = self->current_mailbox_element();
  return element && element->mid.is_request();
}

/// The number of the message that `self` is handling, unique among the messages
/// of its sender. A `cancelled` message refers to it.
template <class Self>
std::uint64_t current_call(Self* self) {
  auto* element = self->current_mailbox_element();
  return element ? element->mid.request_id().integer_value() : 0;
}

} // namespace caisson::portable

// -- reflection ---------------------------------------------------------------

// CAISSON_EACH(m, xs...) is m(x1), m(x2), …; the others are its parts.
/// @cond
#define CAISSON_PARENS ()
#define CAISSON_EXPAND(...) \
  CAISSON_EXPAND3(CAISSON_EXPAND3(CAISSON_EXPAND3(__VA_ARGS__)))
#define CAISSON_EXPAND3(...) \
  CAISSON_EXPAND2(CAISSON_EXPAND2(CAISSON_EXPAND2(__VA_ARGS__)))
#define CAISSON_EXPAND2(...) \
  CAISSON_EXPAND1(CAISSON_EXPAND1(CAISSON_EXPAND1(__VA_ARGS__)))
#define CAISSON_EXPAND1(...) __VA_ARGS__
#define CAISSON_EACH(m, ...) \
  __VA_OPT__(CAISSON_EXPAND(CAISSON_EACH_(m, __VA_ARGS__)))
#define CAISSON_EACH_(m, x, ...) \
  m(x) __VA_OPT__(, CAISSON_EACH_AGAIN CAISSON_PARENS(m, __VA_ARGS__))
#define CAISSON_EACH_AGAIN() CAISSON_EACH_
/// @endcond

/// @def CAISSON_MESSAGE(type, ...)
/// CAISSON_MESSAGE(type, members...): makes a plain struct a message type (at
/// most 26 members). Use it in the type's namespace, and list the type in a
/// type-id block.
#if CAISSON_CAF_LEGACY
/// How CAISSON_MESSAGE names a member to an inspector.
#define CAISSON_MEMBER(m) x.m
#define CAISSON_MESSAGE(type, ...)                                       \
  template <class Inspector>                                             \
  typename Inspector::result_type inspect(Inspector& f,                  \
                                          [[maybe_unused]] type& x) {    \
    return f(caf::meta::type_name(#type)                                 \
               __VA_OPT__(, CAISSON_EACH(CAISSON_MEMBER, __VA_ARGS__))); \
  }
#else
#define CAISSON_MEMBER(m) f.field(#m, x.m)
#define CAISSON_MESSAGE(type, ...)                                        \
  template <class Inspector>                                              \
  bool inspect(Inspector& f, [[maybe_unused]] type& x) {                  \
    return f.object(x).fields(CAISSON_EACH(CAISSON_MEMBER, __VA_ARGS__)); \
  }
#endif

/// CAISSON_ENUM(type, last): lets messages contain and print an enumeration
/// with the values 0 to `last` and a `name_of`.
#if CAISSON_CAF_LEGACY
#define CAISSON_ENUM(type, last)         \
  inline std::string to_string(type x) { \
    return std::string{name_of(x)};      \
  }
#else
#define CAISSON_ENUM(type, last)                                          \
  inline std::string to_string(type x) {                                  \
    return std::string{name_of(x)};                                       \
  }                                                                       \
  inline bool from_integer(std::underlying_type_t<type> value, type& x) { \
    if (value > static_cast<std::underlying_type_t<type>>(last))          \
      return false;                                                       \
    x = static_cast<type>(value);                                         \
    return true;                                                          \
  }                                                                       \
  inline bool from_string(std::string_view text, type& x) {               \
    for (int i = 0; i <= static_cast<int>(last); ++i)                     \
      if (name_of(static_cast<type>(i)) == text) {                        \
        x = static_cast<type>(i);                                         \
        return true;                                                      \
      }                                                                   \
    return false;                                                         \
  }                                                                       \
  template <class Inspector>                                              \
  bool inspect(Inspector& f, type& x) {                                   \
    return caf::default_enum_inspect(f, x);                               \
  }
#endif
