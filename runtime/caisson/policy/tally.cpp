#include <caisson/policy/tally.hpp>

namespace caisson {

std::string_view name_of(tallied x) noexcept {
  switch (x) {
    case tallied::attempts:
      return "attempts";
    case tallied::limit_used:
      return "limit_used";
  }
  return "unknown";
}

} // namespace caisson
