// Commands of an operator to a policy that `solo` hosts.
#pragma once

#include <support/solo.hpp>

#include <utility>

namespace caisson::test {

/// Carries out what the policy asked for outside a call: lets go or turns away
/// the calls that it held.
template <class Policy>
void carry_out(solo<Policy>& h) {
  for (auto& a : std::exchange(h.e.actions, {})) {
    auto i = h.calls.find(a.call);
    if (i == h.calls.end() || i->second.where != place::held)
      continue;
    auto& x = i->second;
    x.until = never;
    if (a.what == env::action::kind::resume) {
      x.where = place::below;
      ++x.descents;
    } else {
      x.where = place::rejected;
      x.code = a.code;
      x.retry_after = a.retry_after;
    }
  }
}

/// Gives the policy other settings.
template <class Policy>
void reconfigure(solo<Policy>& h, const typename Policy::config_type& c) {
  h.policy.reconfigure(c, h.e);
  carry_out(h);
}

/// Gives the policy a command; returns its answer.
template <class Policy>
bool command(solo<Policy>& h, operator_command c) {
  auto known = h.policy.command(c, h.e);
  carry_out(h);
  return known;
}

} // namespace caisson::test
