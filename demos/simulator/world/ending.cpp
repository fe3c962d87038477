#include <simulator/world/ending.hpp>

#include <caisson/caf/caf.hpp>
#include <caisson/caf/error.hpp>

namespace caisson::sim {

namespace {

bool is_for_want_of_connection(const outcome& o) {
  auto answer = static_cast<const caf::message*>(o.reply);
  auto error = answer ? portable::get_if<caf::error>(*answer) : nullptr;
  auto context = error && o.own_error ? context_of(*error) : nullptr;
  return context && context->policy == no_connection_policy;
}

} // namespace

std::string_view name_of(ending e) noexcept {
  switch (e) {
    case ending::good:
      return "good";
    case ending::failed:
      return "failed";
    case ending::timeout:
      return "timeout";
    case ending::no_connection:
      return "no_connection";
    default:
      return caisson::name_of(static_cast<errc>(e));
  }
}

ending ending_of(const outcome& o) {
  if (o.ok)
    return ending::good;
  if (is_for_want_of_connection(o))
    return ending::no_connection;
  return o.own_error ? static_cast<ending>(o.code) : ending::failed;
}

} // namespace caisson::sim
