#include <sim/world/service_errors.hpp>

#include <caisson/messages.hpp>

#include <utility>

namespace caisson::sim {

caf::message service_error(errc code, const std::string& service,
                           bool reached) {
  rejection why;
  why.policy = service;
  why.reached = reached;
  why.from_worker = true;
  return caf::make_message(make_error(code, std::move(why)));
}

caf::message passed_on(caf::message content) {
  auto error = portable::get_if<caf::error>(content);
  auto context = error ? context_of(*error) : nullptr;
  if (!context || (context->reached && context->from_worker))
    return content;
  auto why = *context;
  why.reached = why.from_worker = true;
  return caf::make_message(
    make_error(static_cast<errc>(error->code()), std::move(why)));
}

} // namespace caisson::sim
