// A worker that a file of gates describes itself, by its kind and settings.
#pragma once

#include <caisson/gate/worker_kind.hpp>
#include <caisson/gate/worker_names.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/section.hpp>

#include <memory>
#include <string>
#include <vector>

namespace caisson {

/// A worker with the settings of its kind. Immutable.
class described_worker {
public:
  /// @pre the settings are valid
  described_worker(const worker_kind& kind,
                   std::shared_ptr<detail::worker_settings> settings);

  /// The name of its kind.
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }

  /// May throw what the kind's `make` throws.
  [[nodiscard]] worker make(const supervision_config& s) const {
    return settings_->make(s);
  }

  /// Whether all settings are the same, secrets included.
  [[nodiscard]] bool equals(const described_worker& other) const {
    return kind_ == other.kind_ && values_ == other.values_;
  }

  /// What is different from `before`, which is of the same kind, without any
  /// secret: `url = "http://b" (was "http://a"), password = another one`.
  [[nodiscard]] std::string changes_from(const described_worker& before) const;

private:
  std::string kind_;
  std::shared_ptr<const detail::worker_settings> settings_;
  std::vector<std::string> secrets_;
  // Of each setting, in full.
  std::vector<std::string> values_;
};

namespace detail {

/// What a table says of a worker that it describes: null if it has problems,
/// all of which are appended to `out`. Its keys `group`, `rank` and
/// `supervision` are for others to read.
[[nodiscard]] std::shared_ptr<const described_worker>
read_described_worker(const section& at, const worker_names& known,
                      problems& out);

} // namespace detail

} // namespace caisson
