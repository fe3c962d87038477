#include <caisson/caf/detail/helper_messages.hpp>

namespace caisson::detail {

std::string_view name_of(member_state x) noexcept {
  switch (x) {
    case member_state::joined:
      return "joined";
    case member_state::down:
      return "down";
    case member_state::due:
      return "due";
    case member_state::up:
      return "up";
    case member_state::gave_up:
      return "gave_up";
    case member_state::ended:
      return "ended";
    case member_state::finished:
      return "finished";
  }
  return "unknown";
}

std::string_view name_of(member_order x) noexcept {
  switch (x) {
    case member_order::stop:
      return "stop";
    case member_order::start:
      return "start";
    case member_order::give_up:
      return "give_up";
  }
  return "unknown";
}

} // namespace caisson::detail
