#include <sim/world/ending.hpp>

namespace caisson::sim {

std::string_view name_of(ending e) noexcept {
  switch (e) {
    case ending::good:
      return "good";
    case ending::failed:
      return "failed";
    case ending::timeout:
      return "timeout";
    default:
      return caisson::name_of(static_cast<errc>(e));
  }
}

ending ending_of(const outcome& o) noexcept {
  if (o.ok)
    return ending::good;
  return o.own_error ? static_cast<ending>(o.code) : ending::failed;
}

} // namespace caisson::sim
