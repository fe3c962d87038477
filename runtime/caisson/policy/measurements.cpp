#include <caisson/policy/measurements.hpp>

namespace caisson {

std::string_view name_of(measured x) noexcept {
  switch (x) {
    case measured::calls:
      return "calls";
    case measured::attempts:
      return "attempts";
    case measured::waits:
      return "waits";
  }
  return "unknown";
}

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
