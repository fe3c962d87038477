#include <caisson/adapters/http/errors.hpp>

#include <caisson/caf/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson {

namespace {

int status_of(errc x) noexcept {
  switch (x) {
    case errc::rate_limited:
      return 429;
    case errc::deadline_exceeded:
      return 504;
    case errc::batch_failed:
    case errc::callback_failed:
    case errc::call_loop:
    case errc::invalid_config:
    case errc::no_such_permit:
    case errc::injected:
    case errc::internal_error:
      return 500;
    case errc::breaker_open:
    case errc::queue_full:
    case errc::wait_timeout:
    case errc::cancelled:
    case errc::worker_down:
    case errc::budget_exhausted:
    case errc::shed:
    case errc::draining:
    case errc::feature_off:
    case errc::throttled:
      break;
  }
  return 503;
}

int status_of(transport_errc x) noexcept {
  switch (x) {
    case transport_errc::timed_out:
      return 504;
    case transport_errc::lost:
    case transport_errc::garbled:
    case transport_errc::too_large:
      return 502;
    case transport_errc::bad_request:
      return 500;
    case transport_errc::not_connected:
    case transport_errc::busy:
    case transport_errc::stopped:
      break;
  }
  return 503;
}

std::string whole_seconds(duration d) {
  auto s = std::chrono::ceil<std::chrono::seconds>(
    std::min<duration>(d, std::chrono::hours(24)));
  return std::to_string(s.count());
}

} // namespace

http_response http_error(const caf::error& x, duration after) {
  http_response result;
  auto content = caf::make_message(x);
  std::string_view name = "internal error";
  if (auto o = outcome_of(content); o.own_error) {
    auto code = static_cast<errc>(o.code);
    result.status = status_of(code);
    name = name_of(code);
    if (o.retry_after != duration::zero())
      after = o.retry_after;
  } else if (auto code = transport_errc_of(x)) {
    result.status = status_of(*code);
    name = name_of(*code);
  } else if (portable::is_receiver_down(x)) {
    result.status = 503;
    name = "worker_down";
  } else {
    result.status = 500;
  }
  auto may_come_back = result.status == 429 || result.status == 503;
  if (may_come_back && after > duration::zero() && after != unlimited)
    result.headers.emplace("retry-after", whole_seconds(after));
  result.headers.emplace("content-type", "text/plain; charset=utf-8");
  result.body = std::string{name} + '\n';
  return result;
}

} // namespace caisson
