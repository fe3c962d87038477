// Answers with an alternative when the worker fails.
#pragma once

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

// -- configuration ------------------------------------------------------------

/// The settings of a fallback. The host has its alternatives (values or
/// actors).
struct fallback_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How many calls may be with actors as alternatives at once: 1 to 1000000,
  /// default 10; 0: no limit. Values take no place.
  std::uint32_t max_concurrent = 10;

  /// The share of a call's remaining time that an alternative that is a cache
  /// may take: 0.001 to 1, default 0.15. A cache that takes longer is not worth
  /// waiting for, and the rest of the time is left for the next alternative.
  double cache_share = 0.15;

  /// Which alternative a call tries first after the worker has failed with this
  /// outcome; those before it are not asked. Without a value, or with a number
  /// that no alternative has, the outcome goes up. Default: the first one. If
  /// it throws, the call ends with `callback_failed`.
  std::function<std::optional<std::size_t>(const call_info&, const outcome&)>
    choose = {};

  /// Which outcomes to fall back from: `failure`, `transient` and `refused`,
  /// and in the default table also the error `shed`. The lists are called
  /// `fall_back_on` (allow) and `ignore` (deny), both empty by default. If
  /// `by_value` throws, the outcome goes up unchanged.
  classifier classify = {};
};

void describe(field_visitor& v, fallback_config& c);

void check(const fallback_config& c, const setting_path& path, problems& out);

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

/// What answers in place of the worker.
enum class alternative_kind : std::uint8_t {
  /// A value, available at once for any number of calls.
  value,
  /// An actor, which can handle a limited number of calls at once.
  actor,
  /// An actor that knows earlier answers: it has less time.
  cache,
};

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

  /// The same with this many actors.
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
  // The state of a call.
  struct progress {
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
  [[nodiscard]] std::uint64_t next_for(const progress& saved,
                                       std::uint64_t i) const noexcept;

  // Why the call cannot go to the alternative `next`, or `count_` if it can.
  [[nodiscard]] counter obstacle(const call_info& call, const progress& saved,
                                 std::uint64_t next,
                                 const env& e) const noexcept;

  decision answer(const call_info& call, progress& saved, env& e);
  decision give_up(progress& saved, counter why);
  void keep_place(progress& saved, bool wanted);

  std::vector<alternative_kind> chain_;
  std::int64_t running_ = 0;
};

} // namespace caisson
