// Answers with an alternative when the worker fails.
#pragma once

#include <caisson/policies/fallback_config.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy_base.hpp>
#include <caisson/settings/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// -- counters -----------------------------------------------------------------

/// What a fallback counts; docs/fallback.md says what each means.
enum class fallback_counter : std::uint8_t {
  calls,
  primary_answered,
  fell_back,
  tried_next,
  passed_over,
  answered_by_alternative,
  passed_up,
  declined,
  all_failed,
  out_of_time,
  fallback_full,
  abandoned,
  abandoned_in_fallback,
  cache_cut_off,
  count_
};

template <>
struct enum_names<fallback_counter> {
  static constexpr std::string_view value[] = {
    "calls",
    "primary_answered",
    "fell_back",
    "tried_next",
    "passed_over",
    "answered_by_alternative",
    "passed_up",
    "declined",
    "all_failed",
    "out_of_time",
    "fallback_full",
    "abandoned",
    "abandoned_in_fallback",
    "cache_cut_off",
  };
};

// -- policy -------------------------------------------------------------------

/// Sends a call whose worker failed to alternatives, one after another, until
/// one succeeds. If all fail, the outcome of the last one goes up, because the
/// host still has its reply. Its `may_have_executed` says whether the worker or
/// *any* alternative may have executed it. While `max_concurrent` calls are
/// with actors, further calls skip actors in favour of later values.
///
/// `env::answer` gives a value, and a child call asks an actor, once per hold.
/// Each outcome comes to `complete`. The layer's values and targets have the
/// numbers of the alternatives.
class fallback final
  : public policy_base<fallback, fallback_config, fallback_counter> {
public:
  /// The name of the kind.
  static constexpr std::string_view kind_name = "fallback";

  // -- construction -----------------------------------------------------------

  /// The alternatives of `chain` are numbered from 0. Throws `config_error` if
  /// `c` is not valid or there are none.
  fallback(fallback_config c, std::vector<alternative_kind> chain);

  /// All alternatives are actors, of which there are so many.
  fallback(fallback_config c, std::size_t actors);

  /// How many alternatives there are, at least one.
  [[nodiscard]] std::size_t alternatives() const noexcept {
    return chain_.size();
  }

  // -- calls ------------------------------------------------------------------

  decision admit(call_info& call, slot& notes, env& e) override;
  decision complete(call_info& call, slot& notes, outcome& result,
                    env& e) override;
  void abandon(call_info& call, slot& notes, const outcome& why, bool in_flight,
               env& e) override;
  [[nodiscard]] bool resends() const noexcept override { return true; }

protected:
  // -- operation --------------------------------------------------------------

  // Calls stay with their alternatives, even if there are more than the new
  // `max_concurrent`.

  void list_gauges(std::vector<metric>& out) const override;

private:
  // What the slot of a call has.
  struct call_state {
    // The alternative after the one that it was sent to; 0 while it is with the
    // worker.
    std::uint64_t next = 0;
    // Whether it occupies a place with an actor.
    bool placed = false;
    bool may_have_executed = false;
    // When the alternative that it was sent to is cut off for taking more than
    // its share.
    time_point limit = never;
  };

  // What to do about an outcome.
  enum class judgement { good, bad, not_ours };

  [[nodiscard]] judgement judge(const outcome& o, env& e) const;
  [[nodiscard]] bool full() const noexcept;

  // How long the actor may take.
  [[nodiscard]] time_point limit_of(const call_info& call, std::uint64_t which,
                                    time_point now) const noexcept;

  // The first alternative for a call whose worker has failed with `o`; their
  // number if there is none for it.
  [[nodiscard]] std::uint64_t first_for(const call_info& call, const outcome& o,
                                        env& e) const;

  // The first alternative from `i` on that can take the call, or their number
  // if none can.
  [[nodiscard]] std::uint64_t next_for(const call_state& saved,
                                       std::uint64_t i) const noexcept;

  // Why the call cannot go to the alternative `next`, or `count_` if it can.
  [[nodiscard]] counter why_not(const call_info& call, const call_state& saved,
                                std::uint64_t next,
                                const env& e) const noexcept;

  decision answer(const call_info& call, call_state& saved, env& e);
  decision give_up(call_state& saved, counter why);
  void keep_place(call_state& saved, bool keep);

  std::vector<alternative_kind> chain_;
  std::int64_t running_ = 0;
};

} // namespace caisson
