#include <caisson/policies/shedder/shed_levels.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>

namespace caisson::detail {

namespace {

// Sums of shares are not exact.
constexpr double slack = 1e-6;

} // namespace

// -- calls --------------------------------------------------------------------

void shed_levels::begin_window() {
  seen_.assign(count, 0);
  seen_any_.fill(0);
  over_ = false;
  if (absent_.empty())
    return;
  // The first ones count evenly.
  newest_ = std::max(newest_ / (1 + newest_), 1.0 / averaged);
  for (auto& x : absent_)
    x *= static_cast<float>(1 - newest_);
}

void shed_levels::note_absent(std::uint32_t first, std::uint32_t levels,
                              double calls) {
  CAISSON_ENSURE(first + levels <= count && calls >= 0,
                 "{} calls stay away from levels {} to {}", calls, first,
                 first + levels);
  if (absent_.empty())
    absent_.assign(count, 0);
  for (auto i = first; i < first + levels; ++i)
    absent_[i] += static_cast<float>(newest_ * calls / levels);
}

// Callers will keep back calls of the levels that no longer pass, too. An
// average that began without any would take these for empty, just where the
// threshold comes back to.
void shed_levels::expect_absent(std::uint32_t threshold) {
  if (absent_.empty())
    return;
  double kept = 0;
  double sent = 0;
  for (std::uint32_t i = 0; i < at_.threshold; ++i) {
    kept += absent_[i];
    sent += arrivals_of(i);
  }
  auto share = kept > 0 ? kept / (kept + sent) : 0;
  for (auto i = at_.threshold; i < threshold; ++i)
    absent_[i] = static_cast<float>(share * arrivals_of(i));
}

void shed_levels::forget_absent() noexcept {
  absent_.clear();
  newest_ = 1;
}

bool shed_levels::admit(std::int32_t priority, std::uint32_t group,
                        std::uint32_t calls, random_source& r) {
  if (over_) [[unlikely]]
    begin_window();
  auto level = level_of(priority, group);
  CAISSON_ENSURE(group < groups && level < seen_.size(),
                 "a call of group {} has level {} of {}", group, level,
                 seen_.size());
  ++seen_[level];
  if (calls > 1 && level < at_.threshold) [[unlikely]]
    note_absent(level, 1, calls - 1);
  return level >= at_.threshold
         || (at_.parts_users && level + 1 == at_.threshold
             && passes_in_part(r));
}

bool shed_levels::admit_any(std::int32_t priority, std::uint32_t calls,
                            random_source& r) {
  if (over_) [[unlikely]]
    begin_window();
  auto rank = class_of(priority);
  ++seen_any_[rank];
  if (calls > 1 && rank * groups < at_.threshold) [[unlikely]]
    note_absent(rank * groups, groups, calls - 1);
  // Nothing is drawn for a call that passes or not in any case.
  if (rank * groups >= at_.threshold)
    return true;
  if ((rank + 1) * groups < at_.threshold)
    return false;
  auto level = rank * groups + static_cast<std::uint32_t>(r.below(groups));
  return level >= at_.threshold
         || (level + 1 == at_.threshold && passes_in_part(r));
}

bool shed_levels::passes_in_part(random_source& r) const {
  return at_.part > 0 && r.uniform() < at_.part;
}

// -- windows ------------------------------------------------------------------

double shed_levels::arrivals_of(std::uint32_t level) const noexcept {
  return seen_[level] + seen_any_[level / groups] / double{groups};
}

double shed_levels::calls_of(std::uint32_t level) const noexcept {
  return level < at_.threshold && !absent_.empty()
           ? arrivals_of(level) + absent_[level]
           : arrivals_of(level);
}

double shed_levels::all() const noexcept {
  double sum = 0;
  for (std::uint32_t i = 0; i < seen_.size(); ++i)
    sum += calls_of(i);
  return sum;
}

double shed_levels::passing() const noexcept {
  if (seen_.empty())
    return 0;
  double sum = sheds() ? at_.part * arrivals_of(at_.threshold - 1) : 0;
  for (auto i = at_.threshold; i < count; ++i)
    sum += arrivals_of(i);
  return sum;
}

double shed_levels::share() const noexcept {
  auto n = sheds() ? all() : 0;
  return n > 0 ? passing() / n : 1;
}

// The lowest threshold above which no more than `target` calls were.
shed_levels::place shed_levels::place_for(double target) const noexcept {
  place out{.threshold = count};
  double sum = 0;
  for (; out.threshold > 0; --out.threshold) {
    auto next = sum + calls_of(out.threshold - 1);
    if (next > target + slack)
      break;
    sum = next;
  }
  if (out.threshold == 0)
    return out;
  auto n = calls_of(out.threshold - 1);
  out.part = std::clamp((target - sum) / n, 0.0, 1.0);
  out.parts_users = n > heavy * target;
  return out;
}

void shed_levels::tighten(double factor, double least) {
  if (over_)
    return;
  over_ = true;
  auto before = at_.height();
  target_ = std::max(passing() * factor, least);
  if (auto next = place_for(target_); next.height() > at_.height()) {
    expect_absent(next.threshold);
    at_ = next;
  }
  ensure_place();
  CAISSON_ENSURE(at_.height() >= before, "a threshold of {} falls to {}",
                 before, at_.height());
}

void shed_levels::ensure_place() const {
  CAISSON_ENSURE(at_.threshold <= count && at_.part >= 0 && at_.part <= 1
                   && (at_.threshold > 0 || at_.part == 0),
                 "threshold {}, and {} of the level below", at_.threshold,
                 at_.part);
}

void shed_levels::relax(double factor, double least) {
  auto before = at_.height();
  if (sheds()) {
    // If other calls come than before, no fewer than passed then.
    auto passed = over_ ? target_
                        : std::max(passing(), std::min(target_, all()));
    target_ = std::max(passed * factor, least);
    if (target_ + slack >= all())
      open();
    else if (auto next = place_for(target_); next.height() < at_.height())
      at_ = next;
  }
  over_ = true;
  ensure_place();
  CAISSON_ENSURE(at_.height() <= before, "a threshold of {} rises to {}",
                 before, at_.height());
}

void shed_levels::open() noexcept {
  at_ = {};
  forget_absent();
}

} // namespace caisson::detail
