#include <caisson/policy/call_info.hpp>

namespace caisson {

std::string_view name_of(idempotence x) noexcept {
  switch (x) {
    case idempotence::unmarked:
      return "unmarked";
    case idempotence::yes:
      return "yes";
    case idempotence::no:
      return "no";
  }
  return "unknown";
}

} // namespace caisson
