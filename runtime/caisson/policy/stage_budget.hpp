// A budget of time for work that has stages.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/settings.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// One stage of a budget.
struct stage_share {
  /// What the stage is called; not empty.
  std::string name = {};

  /// How long the stage may take: 1us to 365d, default 1ms.
  duration share = std::chrono::milliseconds(1);
};

/// Lists the fields of `x`.
void describe(field_visitor& v, stage_share& x);

/// How much time all stages have together, and each of them at most.
struct stage_budget_config {
  /// The time from the start to the end: 1us to 365d, default 1s.
  duration total = std::chrono::seconds(1);

  /// The stages: 1 to 64, with different names.
  std::vector<stage_share> stages = {};

  /// What no stage may use, such as the time that the answer takes on its way
  /// back: 0 to 365d, default 0. The shares and this are not more than `total`
  /// together.
  duration reserve = duration::zero();
};

/// Lists the fields of `c`.
void describe(field_visitor& v, stage_budget_config& c);

/// Checks the number and the names of the stages, and the sum of their shares.
void check(const stage_budget_config& c, const setting_path& path,
           problems& out);

// -- budget -------------------------------------------------------------------

/// A budget that runs since its start. A value: copies share the budget's
/// settings and have the same end. `now` is always the current instant of the
/// clock that gave the start. A clock that steps back to before the start
/// counts as being at the start.
class stage_clock {
public:
  /// When the stage must end if it begins now: after its share, and not so late
  /// that less than the reserve would be left. Never before `now`; a limit of
  /// exactly `now` means that no time is left. Throws `std::out_of_range` if
  /// there is no stage with that name.
  [[nodiscard]] time_point limit_of(std::string_view stage,
                                    time_point now) const;

  /// How much time the stage gets if it begins now: min(its share, what is left
  /// of the total - reserve), never negative. Throws `std::out_of_range` if
  /// there is no stage with that name.
  [[nodiscard]] duration time_for(std::string_view stage, time_point now) const;

  /// How much of the total is left, reserve included; never negative.
  [[nodiscard]] duration left(time_point now) const noexcept;

  /// When the total is used up.
  [[nodiscard]] time_point end() const noexcept { return end_; }

private:
  friend class stage_budget;
  stage_clock(std::shared_ptr<const stage_budget_config> budget,
              time_point start, time_point end)
    : budget_(std::move(budget)), start_(start), end_(end) {}

  std::shared_ptr<const stage_budget_config> budget_;
  time_point start_;
  time_point end_;
};

/// A budget of time for work that has stages, for instance 300 ms for looking
/// up a name (20 ms), connecting (50 ms) and asking (200 ms), of which 30 ms
/// stay in reserve:
///
///     stage_budget budget{{.total = 300ms,
///                          .stages = {{"dns", 20ms}, {"tls", 50ms},
///                                     {"api", 200ms}},
///                          .reserve = 30ms}};
///     auto clock = budget.start(self->clock().now());
///     …
///     wrap(query).by(clock.limit_of("api", self->clock().now()))
///
/// Stages may come in any order, and more than once: each time the share counts
/// from there. A later stage gets its whole share as long as that much is left;
/// time that a stage takes beyond its share is missing at the end. Immutable:
/// threads may share it.
class stage_budget {
public:
  /// Throws `config_error` if `c` is not valid.
  explicit stage_budget(stage_budget_config c);

  /// The settings that it was created with.
  [[nodiscard]] const stage_budget_config& config() const noexcept {
    return *config_;
  }

  /// Whether there is a stage with that name.
  [[nodiscard]] bool has(std::string_view stage) const noexcept;

  /// The share of that stage. Throws `std::out_of_range` if there is none.
  [[nodiscard]] duration share_of(std::string_view stage) const;

  /// The total begins now.
  [[nodiscard]] stage_clock start(time_point now) const;

  /// The total begins now, of work that must end by `deadline` at the latest,
  /// `never` if it has no other end than the total's.
  [[nodiscard]] stage_clock start(time_point now, time_point deadline) const;

private:
  std::shared_ptr<const stage_budget_config> config_;
};

} // namespace caisson
