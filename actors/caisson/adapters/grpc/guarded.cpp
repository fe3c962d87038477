#include <caisson/adapters/grpc/detail/context.hpp>
#include <caisson/adapters/grpc/guarded.hpp>

#include <string>

namespace caisson {

void prepare(::grpc::ClientContext& to, const attempt& from) {
  detail::set_deadline(to, from.deadline());
  call_options options;
  options.traceparent = from.traceparent();
  options.propagated.set_tracestate(from.tracestate());
  options.propagated.set_baggage(from.baggage());
  options.idempotency_key = from.idempotency_key();
  const std::string none;
  detail::add_metadata(to, {}, options, {none, none}, max_baggage_length);
}

} // namespace caisson
