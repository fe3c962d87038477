#include <caisson/adapters/grpc/detail/context.hpp>
#include <caisson/adapters/grpc/guarded.hpp>

#include <cstddef>
#include <string>

namespace caisson {

namespace {

// What servers of gRPC take by default. If one call has more, all calls of the
// connection fail.
constexpr std::size_t usual_limit = 8192;

} // namespace

void prepare(::grpc::ClientContext& to, const attempt& from) {
  detail::set_deadline(to, from.deadline());
  call_options options;
  options.traceparent = from.traceparent();
  options.propagated.set_tracestate(from.tracestate());
  options.propagated.set_baggage(from.baggage());
  options.idempotency_key = from.idempotency_key();
  const std::string none;
  const auto size = detail::size_of_metadata({}, options);
  detail::add_metadata(to, {}, options, {none, none},
                       size < usual_limit ? usual_limit - size : 0);
}

} // namespace caisson
