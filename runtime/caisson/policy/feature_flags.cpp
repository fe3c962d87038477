#include <caisson/policy/feature_flags.hpp>

#include <caisson/base/scoped_objects.hpp>
#include <caisson/base/system_number.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

// -- feature_flags ------------------------------------------------------------

namespace {

std::shared_ptr<feature_flags> flags_in(detail::object_scope scope) {
  static detail::scoped_objects<feature_flags> known;
  return known.take(scope, {},
                    [] { return std::make_shared<feature_flags>(); });
}

} // namespace

std::shared_ptr<feature_flags> feature_flags::of(caf::actor_system* system) {
  return flags_in({.system = detail::number_of(*system)});
}

std::shared_ptr<feature_flags> feature_flags::of(const void* scope) {
  return flags_in({.address = scope});
}

bool feature_flags::is_on(std::string_view name) const {
  std::lock_guard guard{mutex_};
  auto i = known_.find(name);
  return i == known_.end() || *i->second == 0;
}

feature_flags::feature feature_flags::find(std::string_view name) {
  return {shared_from_this(), entry(name)};
}

std::vector<std::string> feature_flags::all_off() const {
  std::lock_guard guard{mutex_};
  std::vector<std::string> out;
  for (const auto& [name, holds] : known_)
    if (*holds > 0)
      out.push_back(name);
  return out;
}

std::size_t feature_flags::size() const {
  std::lock_guard guard{mutex_};
  return known_.size();
}

std::shared_ptr<feature_flags::hold_count>
feature_flags::entry(std::string_view name) {
  std::lock_guard guard{mutex_};
  if (auto i = known_.find(name); i != known_.end())
    return i->second;
  // A feature without users has no holds.
  if (known_.size() >= next_sweep_) {
    std::erase_if(known_, [](auto& x) { return x.second.use_count() == 1; });
    next_sweep_ = std::max(first_sweep, 2 * known_.size());
  }
  auto holds = std::make_shared<hold_count>(0);
  known_.emplace(name, holds);
  return holds;
}

// -- feature_hold -------------------------------------------------------------

feature_hold::feature_hold(std::shared_ptr<feature_flags> flags)
  : flags_(std::move(flags)) {}

feature_hold::~feature_hold() {
  set({});
}

void feature_hold::set(const std::vector<std::string>& features) {
  std::vector<std::shared_ptr<feature_flags::hold_count>> next;
  next.reserve(features.size());
  for (const auto& x : features)
    next.push_back(flags_->entry(x));
  for (auto& x : next)
    x->fetch_add(1, std::memory_order_acq_rel);
  for (auto& x : std::exchange(held_, std::move(next)))
    x->fetch_sub(1, std::memory_order_acq_rel);
}

} // namespace caisson
