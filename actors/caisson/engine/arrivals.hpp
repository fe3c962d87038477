// Arrival of calls: takes them in, or refuses them.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/next_step.hpp>
#include <caisson/engine/operations.hpp>
#include <caisson/engine/reply_slot.hpp>

#include <optional>
#include <string>

namespace caisson::detail {

/// Takes in calls and requests for permits, or refuses them.
class arrivals {
public:
  arrivals(engine_core& core, const operations& operations_part)
    : core_(core), operations_(operations_part) {}

  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  /// A call with these options, which it takes over, or without any (null).
  [[nodiscard]] moved_call take(reply_slot&& from, caf::message&& payload,
                                call_options* options);

  [[nodiscard]] moved_call acquire(reply_slot&& from,
                                   const caisson::acquire& what);

  /// Answers with an error of the gate's.
  void refuse(reply_slot& from, errc code, std::string text = {});

private:
  /// Why a call may not come in.
  struct refusal {
    errc code;
    std::string text = {};
  };

  [[nodiscard]] std::optional<refusal> refuse_if_unavailable();
  [[nodiscard]] std::optional<refusal>
  refuse_if_invalid(const reply_slot& from, const call_options& options);
  void refuse_call(reply_slot& from, caf::message&& payload,
                   call_options* options, refusal why);
  bool set_options(call_record& r, call_options& options);
  moved_call enter(call_record& r);
  moved_call end_late(call_record& r);

  engine_core& core_;
  const operations& operations_;
};

} // namespace caisson::detail
