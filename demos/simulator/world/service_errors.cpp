#include <simulator/world/service_errors.hpp>

#include <caisson/messages.hpp>

#include <utility>

namespace caisson::sim {

caf::message service_error(errc code, const std::string& service,
                           bool may_have_executed) {
  rejection why;
  why.policy = service;
  why.may_have_executed = may_have_executed;
  why.from_worker = true;
  return caf::make_message(make_error(code, std::move(why)));
}

caf::message passed_on(caf::message content) {
  auto error = portable::get_if<caf::error>(content);
  auto context = error ? context_of(*error) : nullptr;
  if (!context || (context->may_have_executed && context->from_worker))
    return content;
  auto why = *context;
  why.may_have_executed = why.from_worker = true;
  return caf::make_message(
    make_error(static_cast<errc>(error->code()), std::move(why)));
}

} // namespace caisson::sim
