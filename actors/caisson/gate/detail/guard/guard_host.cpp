#include <caisson/gate/detail/guard/guard_host.hpp>

#include <caisson/gate/detail/guard/guard_parts.hpp>

#include <mutex>
#include <utility>

namespace caisson::detail {

guard_host::guard_host(caf::actor_system* sys, const stack& policies,
                       exception_classifier classify, guard_clock& clock)
  : classify_(std::move(classify)),
    parts_(std::make_unique<guard_parts>(sys, policies, clock)) {}

guard_host::~guard_host() {
  // Attempts that end meanwhile come here, and not to what is abandoned.
  stop();
  {
    auto& link = *parts_->core.link();
    std::lock_guard lock{link.mutex};
    link.ended = true;
  }
  parts_->core.await_end();
}

call_end guard_host::call(call_options* options, attempt_maker& maker) {
  return parts_->threads.call(options, maker);
}

void guard_host::begin(async_call& x, call_options* options) {
  parts_->async.begin(x, options);
}

opened_call guard_host::open(call_options* options) {
  return parts_->admissions.open(options);
}

void guard_host::close(std::uint64_t token,
                       const std::optional<attempt_result>& how) {
  parts_->admissions.close(token, how);
}

status guard_host::get_status() {
  return parts_->operation.get_status();
}

caf::error guard_host::apply(const reconfigure& x) {
  return parts_->operation.apply(x);
}

caf::error guard_host::apply(const command& x) {
  return parts_->operation.apply(x);
}

void guard_host::listen_to_events(listener f) {
  parts_->operation.listen_to_events(std::move(f));
}

void guard_host::drain() {
  parts_->operation.drain();
}

void guard_host::stop() {
  parts_->operation.stop();
}

} // namespace caisson::detail
