#include <caisson/adapters/grpc/messages.hpp>
#include <caisson/adapters/grpc/status.hpp>

#include <chrono>
#include <string_view>

namespace caisson {

namespace {

using grpc_code = ::grpc::StatusCode;

grpc_code grpc_code_of(errc x) noexcept {
  switch (x) {
    case errc::rate_limited:
    case errc::queue_full:
    case errc::wait_timeout:
    case errc::shed:
    case errc::throttled:
      return grpc_code::RESOURCE_EXHAUSTED;
    case errc::deadline_exceeded:
      return grpc_code::DEADLINE_EXCEEDED;
    case errc::batch_failed:
    case errc::callback_failed:
    case errc::call_loop:
    case errc::invalid_config:
    case errc::no_such_permit:
    case errc::injected:
    case errc::internal_error:
      return grpc_code::INTERNAL;
    case errc::breaker_open:
    case errc::cancelled:
    case errc::worker_down:
    case errc::budget_exhausted:
    case errc::draining:
    case errc::feature_off:
      break;
  }
  return grpc_code::UNAVAILABLE;
}

std::string status_text(const ::grpc::Status& x) {
  return to_text(grpc_response{static_cast<std::int32_t>(x.error_code()),
                               x.error_message(),
                               {},
                               {},
                               {},
                               {}});
}

} // namespace

grpc_status_error::grpc_status_error(::grpc::Status status, answer_info info)
  : attempt_error(status_text(status), info), status_(std::move(status)) {}

answer_info grpc_meaning_of(const ::grpc::Status& x,
                            const std::optional<std::string>& pushback) {
  return info_of(grpc_result{static_cast<int>(x.error_code()), pushback});
}

answer_info grpc_meaning_of(const ::grpc::Status& x,
                            const ::grpc::ClientContext& of) {
  const auto& trailers = of.GetServerTrailingMetadata();
  auto i = trailers.find(::grpc::string_ref{grpc_pushback_trailer.data(),
                                            grpc_pushback_trailer.size()});
  if (i == trailers.end())
    return grpc_meaning_of(x);
  return grpc_meaning_of(x, std::string{i->second.data(), i->second.size()});
}

::grpc::Status grpc_status_of(const caf::error& x) {
  if (auto o = outcome_of(caf::make_message(x)); o.own_error) {
    auto code = static_cast<errc>(o.code);
    return {grpc_code_of(code), std::string{name_of(code)}};
  }
  if (auto code = transport_errc_of(x))
    return {*code == transport_errc::timed_out ? grpc_code::DEADLINE_EXCEEDED
                                               : grpc_code::UNAVAILABLE,
            std::string{name_of(*code)}};
  return {grpc_code::INTERNAL, "internal error"};
}

std::optional<std::string> grpc_pushback_of(duration after) {
  if (after == duration::zero())
    return std::nullopt;
  if (after < duration::zero() || after > longest_pushback)
    return "-1";
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(after);
  return std::to_string(ms.count());
}

} // namespace caisson
