#include <caisson/shared_retry_budget.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

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

class budget_names {
public:
  static budget_names& instance() {
    static budget_names names;
    return names;
  }

  std::shared_ptr<shared_retry_budget> take(const void* scope,
                                            std::string_view name,
                                            const retry_budget::limits& l) {
    std::lock_guard guard{mutex_};
    // Twice what was left last time, so that each name is looked at a few times
    // only.
    if (known_.size() >= next_sweep_) {
      std::erase_if(known_, [](auto& x) { return x.second.expired(); });
      next_sweep_ = std::max(first_sweep, 2 * known_.size());
    }
    auto& entry = known_[{scope, std::string{name}}];
    auto out = entry.lock();
    if (!out)
      entry = out = std::make_shared<shared_retry_budget>(l);
    return out;
  }

private:
  static constexpr std::size_t first_sweep = 64;

  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>,
           std::weak_ptr<shared_retry_budget>>
    known_;
  std::size_t next_sweep_ = first_sweep;
};

} // namespace

std::shared_ptr<shared_retry_budget>
shared_retry_budget::named(const void* scope, std::string_view name,
                           const retry_budget::limits& l) {
  return budget_names::instance().take(scope, name, l);
}

} // namespace caisson
