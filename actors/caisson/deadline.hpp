// Limits how long a call may take.
#pragma once

#include <caisson/policy_base.hpp>
#include <caisson/settings.hpp>
#include <caisson/time.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- configuration ------------------------------------------------------------

/// The settings of a deadline.
struct deadline_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;

  /// How long a call may stay below this layer: 1us to 365d, default 1s.
  duration timeout = std::chrono::seconds(1);

  /// A call with less time left than this is refused: 0 to 365d, not more than
  /// `timeout`, default 0.
  duration min_left = duration::zero();
};

void describe(field_visitor& v, deadline_config& c);

void check(const deadline_config& c, const setting_path& path, problems& out);

// -- counters -----------------------------------------------------------------

/// What a deadline counts; docs/deadline.md says what each means.
enum class deadline_counter : std::uint8_t {
  admitted,
  expired_on_arrival,
  too_little_left,
  answered,
  expired,
  overran,
  abandoned,
  count_
};

template <>
struct enum_names<deadline_counter> {
  static constexpr std::string_view value[] = {
    "admitted", "expired_on_arrival", "too_little_left", "answered", "expired",
    "overran",  "abandoned",
  };
};

// -- policy -------------------------------------------------------------------

/// Sets a deadline on each call: `timeout` from now, unless the call already
/// has an earlier one. It replaces the host's default deadline, whether earlier
/// or later. It refuses calls with too little or no time left before any work
/// is done for them. The layers below see the new deadline. Above this layer,
/// the call has the one that it came with.
class deadline final
  : public policy_base<deadline, deadline_config, deadline_counter> {
public:
  static constexpr std::string_view kind_name = "deadline";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit deadline(deadline_config c);

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision settle(call_info& call, slot& notes, outcome& result,
                  env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;

  // -- time -------------------------------------------------------------------

  decision deadline_passed(call_info& call, slot& notes, env& e) override;

  // -- operation --------------------------------------------------------------

  // New settings apply to new calls. Those below keep their deadlines.

private:
  // What is known of a call below.
  struct limits {
    // The deadline that the layers below see.
    time_point limit;
    // Whether this layer set it.
    bool own;
    bool expired;
  };
};

} // namespace caisson
