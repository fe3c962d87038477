// Limits how long a call may take.
#pragma once

#include <caisson/counters.hpp>
#include <caisson/policy.hpp>
#include <caisson/policy_config.hpp>
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

void check(const deadline_config& c, const std::string& path, problems& out);

// -- policy -------------------------------------------------------------------

/// Puts a deadline on each call: `timeout` from now, unless the one it has is
/// earlier. A deadline that is only the host's default is replaced, be it
/// earlier or later. Calls that have too little time left, or none, are refused
/// before any work is done for them. While the call is below this layer all
/// layers there see the deadline; above it, the call has the one it came with.
class deadline final : public policy {
public:
  using config_type = deadline_config;

  static constexpr std::string_view kind_name = "deadline";

  /// Throws `config_error` if `c` is not valid.
  explicit deadline(deadline_config c);

  [[nodiscard]] const deadline_config& config() const noexcept {
    return config_;
  }

  /// Takes a valid configuration over. Calls that are below keep the deadline
  /// they have.
  void reconfigure(deadline_config c, env& e);

  // -- implementation of policy -----------------------------------------------

  [[nodiscard]] std::string_view kind() const noexcept override {
    return kind_name;
  }

  decision admit(call_info& call, slot& notes, env& e) override;
  decision settle(call_info& call, slot& notes, outcome& result,
                  env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  decision deadline_passed(call_info& call, slot& notes, env& e) override;
  void list_metrics(std::vector<metric>& out) const override;
  bool command(operator_command c, env& e) override;

private:
  enum class counter {
    admitted,
    expired_on_arrival,
    too_little_left,
    answered,
    expired,
    overran,
    abandoned,
    count_,
  };

  // What is known of a call below.
  struct limits {
    // The deadline that the layers below were given.
    time_point limit;
    // Whether it is this layer's, not the one that the call came with.
    bool own;
    bool expired;
  };

  decision turn_away(counter why, const call_info& call, env& e);

  deadline_config config_;
  counters<counter> counters_;
};

} // namespace caisson
