// Answers all calls when an engine stops or fails.
#pragma once

#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/leases.hpp>
#include <caisson/engine/operations.hpp>
#include <caisson/engine/publisher.hpp>
#include <caisson/engine/reply_slot.hpp>
#include <caisson/engine/upstream.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace caisson::detail {

/// Ends an engine, because it is to stop or has failed: answers everybody, and
/// drops all calls. Checks no invariant, as one of them may be what was
/// violated.
class ending {
public:
  ending(engine_core& core, upstream& upstream_part, leases& leases_part,
         operations& operations_part, publisher& publisher_part)
    : core_(core), upstream_(upstream_part), leases_(leases_part),
      operations_(operations_part), publisher_(publisher_part) {}

  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;

  /// Answers with `cancelled`.
  void stop();

  /// Answers with `internal_error` and why, `from` too, if it is not null.
  void fail(reply_slot* from, std::string_view why);

  /// Whether it has ended.
  [[nodiscard]] bool has_ended() const noexcept { return ended_; }

  /// Why it has failed; no error if it has not.
  [[nodiscard]] caf::error failure() const;

  /// Refuses what comes after the end. @pre from is null or waits
  void refuse(reply_slot* from);

private:
  void end(errc code, const std::string& why);

  engine_core& core_;
  upstream& upstream_;
  leases& leases_;
  operations& operations_;
  publisher& publisher_;
  bool ended_ = false;
  /// Which invariant was violated, or what was thrown.
  std::optional<std::string> failure_;
};

} // namespace caisson::detail
