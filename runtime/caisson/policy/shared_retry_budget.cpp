#include <caisson/policy/shared_retry_budget.hpp>

#include <caisson/base/scoped_objects.hpp>
#include <caisson/base/system_number.hpp>

namespace caisson {

// -- shared_retry_budget ------------------------------------------------------

void shared_retry_budget::deposit(time_point now) {
  std::lock_guard guard{mutex_};
  budget_.deposit(now);
}

bool shared_retry_budget::try_withdraw(time_point now, std::uint32_t cost) {
  std::lock_guard guard{mutex_};
  return budget_.try_withdraw(now, cost);
}

void shared_retry_budget::charge(time_point now, std::uint32_t cost) {
  std::lock_guard guard{mutex_};
  budget_.charge(now, cost);
}

std::int64_t shared_retry_budget::balance() const {
  std::lock_guard guard{mutex_};
  return budget_.balance();
}

void shared_retry_budget::change(const retry_budget::limits& l) {
  std::lock_guard guard{mutex_};
  if (l == limits_)
    return;
  limits_ = l;
  budget_ = retry_budget{l};
}

// -- by name ------------------------------------------------------------------

namespace {

std::shared_ptr<shared_retry_budget> budget_in(detail::object_scope scope,
                                               std::string_view name,
                                               const retry_budget::limits& l) {
  static detail::scoped_objects<shared_retry_budget> known;
  return known.take(scope, name,
                    [&] { return std::make_shared<shared_retry_budget>(l); });
}

} // namespace

std::shared_ptr<shared_retry_budget>
shared_retry_budget::named(caf::actor_system* system, std::string_view name,
                           const retry_budget::limits& l) {
  return budget_in({.system = detail::number_of(*system)}, name, l);
}

std::shared_ptr<shared_retry_budget>
shared_retry_budget::named(const void* scope, std::string_view name,
                           const retry_budget::limits& l) {
  return budget_in({.address = scope}, name, l);
}

} // namespace caisson
