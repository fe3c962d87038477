// The elements of messages as text, with both versions of CAF.
#pragma once

#include <caisson/caf/caf.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace caisson::portable {

/// The element number `i` of `msg` as text.
/// @pre i < msg.size()
inline std::string text_of_element(const caf::message& msg, std::size_t i) {
#if CAISSON_CAF_LEGACY
  return msg.stringify(i);
#else
  constexpr std::string_view around = "message(";
  auto text = to_string(
    caf::message_builder{}.append_from(msg, i, 1).to_message());
  return text.starts_with(around)
           ? text.substr(around.size(), text.size() - around.size() - 1)
           : text;
#endif
}

} // namespace caisson::portable
