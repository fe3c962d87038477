// The part of caf.hpp for the content of messages. Included by caf.hpp only.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace caisson::portable {

/// Whether `msg` is exactly one element of type T.
template <class T>
bool holds(const caf::message& msg) {
#if CAISSON_CAF_LEGACY
  // The token says all about a single element that CAF itself knows.
  if constexpr (caf::type_nr<T>::value != 0)
    return msg.type_token() == caf::make_type_token<T>();
  return msg.size() == 1 && msg.match_element<T>(0);
#else
  return msg.match_elements<T>();
#endif
}

/// Whether `msg` refers to something, if only to no elements.
inline bool refers(const caf::message& msg) noexcept {
#if CAISSON_CAF_LEGACY
  return static_cast<bool>(msg.cvals());
#else
  return static_cast<bool>(msg);
#endif
}

/// The only element of `msg` if it is a T, else null.
template <class T>
const T* get_if(const caf::message& msg) {
  return holds<T>(msg) ? &msg.get_as<T>(0) : nullptr;
}

#if CAISSON_CAF_LEGACY
using content_view = caf::type_erased_tuple;
#else
using content_view = caf::message;
#endif

/// Finds which of `Ts` the only element of a message is. On 0.17, where types
/// are compared by their names, it remembers the last type that it has seen, as
/// most messages to an actor are of one.
template <class... Ts>
class type_finder {
public:
  /// It is none of them, or there is not just one element.
  static constexpr std::size_t none = sizeof...(Ts);

  /// The position of `T`.
  template <class T>
  static constexpr std::size_t at() {
    std::size_t n = 0;
    std::ignore = ((std::is_same_v<T, Ts> || (++n, false)) || ...);
    return n;
  }

  /// The position in `Ts`, or `none`.
  std::size_t operator()(const content_view& x) {
    if (x.size() != 1)
      return none;
#if CAISSON_CAF_LEGACY
    const auto* type = x.type(0).second;
    if (!type)
      return none; // One of CAF's own.
    if (type->name() != last_) {
      last_ = type->name();
      at_ = 0;
      std::ignore = ((*type == typeid(Ts) || (++at_, false)) || ...);
    }
    return at_;
#else
    std::size_t at = 0;
    auto type = x.type_at(0);
    std::ignore = ((type == caf::type_id_v<Ts> || (++at, false)) || ...);
    return at;
#endif
  }

private:
#if CAISSON_CAF_LEGACY
  const char* last_ = nullptr;
  std::size_t at_ = 0;
#endif
};

/// Moves an element, by default the only one, out of `msg` (copies it if it is
/// shared).
/// @pre `msg` has a T there
template <class T>
T take(caf::message& msg, std::size_t at = 0) {
#if CAISSON_CAF_LEGACY
  return msg.move_if_unshared<T>(at);
#else
  return std::move(msg.get_mutable_as<T>(at));
#endif
}

} // namespace caisson::portable
