// Caisson's codes as CAF errors, and the setup of an actor system for them.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/policy/outcome.hpp>

#include <string>

#if !CAISSON_CAF_LEGACY

namespace caisson {

bool from_string(std::string_view text, errc& x);
bool from_integer(std::uint8_t value, errc& x);

template <class Inspector>
bool inspect(Inspector& f, errc& x) {
  return caf::default_enum_inspect(f, x);
}

} // namespace caisson

CAF_ERROR_CODE_ENUM(caisson::errc)

#endif

namespace caisson {

/// An error without context. On 0.17 CAF finds it through argument-dependent
/// lookup, which makes `caf::error{errc::x}` and `err == errc::x` work.
caf::error make_error(errc code);

/// An error with its context.
caf::error make_error(errc code, rejection context);

/// The context of a Caisson error; null for other errors.
const rejection* context_of(const caf::error& err);

/// When to retry according to a Caisson error; zero if unknown.
duration retry_after(const caf::error& err);

/// `err` for people, such as `breaker_open by payments, retry after 2.00 s`,
/// and `request_timeout` for CAF's own errors. On CAF 0.17 an error of a
/// category of yours is named by category and number;
/// `caf::actor_system::render` knows what you have registered.
[[nodiscard]] std::string to_text(const caf::error& err);

/// The outcome in a gate's answer: a value, or the error that is its only
/// element. `reply` is set to `&answer`. A Caisson error says whether a worker
/// may have executed the call and whether a worker answered with it. Every
/// other error is a worker's.
outcome outcome_of(const caf::message& answer);

/// For classifiers that judge values: the answer's value if it is a single T.
template <class T>
const T* value_of(const outcome& o) {
  auto* msg = static_cast<const caf::message*>(o.reply);
  return o.ok && msg ? portable::get_if<T>(*msg) : nullptr;
}

/// Registers Caisson's message types and errors with the actor system that will
/// be built from `cfg`. On CAF 1.x, call `init_types` before `cfg` is
/// constructed.
void register_types(caf::actor_system_config& cfg);

namespace detail {

/// Lets `to_text` name errors of another library of Caisson. Objects of it live
/// as long as the program.
class error_names {
public:
  /// The text of an error, empty if it is not one of its own.
  using function = std::string (*)(const caf::error&);

  explicit error_names(function f) noexcept;

  error_names(const error_names&) = delete;
  error_names& operator=(const error_names&) = delete;

  /// What the first one says that knows the error.
  [[nodiscard]] static std::string find(const caf::error& err);

private:
  function name_;
  error_names* next_;
};

/// On CAF 0.17, says once on standard error that a system has gates and was
/// made without `register_types`: errors then have numbers in place of names,
/// and cross to no other node. On 1.x types are registered for all systems.
void warn_if_not_registered(caf::actor_system& sys);

// Runs before the base class config is constructed, as CAF 1.x wants it.
struct types_ready {
  types_ready() { init_types(); }
};

} // namespace detail

/// A config that is set up for Caisson; derive from it or use it directly.
class system_config : private detail::types_ready,
                      public caf::actor_system_config {
public:
  system_config() { register_types(*this); }
};

} // namespace caisson
