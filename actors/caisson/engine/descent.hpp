// Passes calls down through the layers.
#pragma once

#include <caisson/engine/call_expiry.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/next_step.hpp>

#include <cstddef>

namespace caisson::detail {

/// What a policy may change of a call as it admits it.
struct admission_before {
  time_point deadline;
  bool by_default;
};

/// Takes a call down until a layer rejects, answers or holds it, or it is past
/// all of them.
class descent {
public:
  descent(engine_core& core, call_expiry& expiry)
    : core_(core), expiry_(expiry) {}

  descent(const descent&) = delete;
  descent& operator=(const descent&) = delete;

  /// Goes on at layer `first`.
  [[nodiscard]] next_step pass(call_record& r, std::size_t first);

private:
  // Each returns whether the call goes on to the next layer; if not, `out` says
  // what is to happen to it.
  bool prefilter(call_record& r, std::size_t k, next_step& out);
  bool admit(call_record& r, std::size_t k, layer_entry& x, mode act,
             next_step& out);
  template <class F>
  bool admit_by(call_record& r, std::size_t k, layer_entry& x, mode act,
                next_step& out, F f);
  bool admit_lease(call_record& r, std::size_t k, layer_entry& x, mode act,
                   next_step& out);
  bool admitted(call_record& r, std::size_t k, mode act, const decision& d,
                const admission_before& before, next_step& out);
  bool rejected(call_record& r, std::size_t k, mode act, const decision& d,
                next_step& out);

  decision admit_content(call_record& r, std::size_t k, policy& p, env& e);
  void note_deadline(call_record& r, std::size_t k,
                     const admission_before& before);
  [[nodiscard]] bool limits_whole_call(const call_record& r,
                                       std::size_t k) const;

  engine_core& core_;
  call_expiry& expiry_;
};

} // namespace caisson::detail
