#include <caisson/caf/messages.hpp>

// On CAF 1.x the type-id block needs the errors to be whole.
#include <caisson/caf/error.hpp>

namespace caisson {

void init_types() {
  // A static so that several configs in one process register only once.
  static const bool done = [] {
    portable::init_types<caf::id_block::caisson_messages>();
    return true;
  }();
  static_cast<void>(done);
}

std::string_view name_of(release_outcome x) noexcept {
  switch (x) {
    case release_outcome::success:
      return "success";
    case release_outcome::failure:
      return "failure";
    case release_outcome::neutral:
      return "neutral";
  }
  return "unknown";
}

} // namespace caisson
