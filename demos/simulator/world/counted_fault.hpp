// A fault that begins or ends by the number of requests that arrive.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace caisson::sim {

/// Says when one fault begins and ends for one replica. A plain state machine,
/// notified of each request that arrives there before anything is done with it,
/// and of the instants that it asks for. Instants are since the start of the
/// run.
class counted_fault {
public:
  /// What happens now: the end comes first.
  struct change {
    bool ends = false;
    bool begins = false;
    /// It would have begun, but may not.
    bool cut_off = false;
  };

  /// The fault `index` of `arm`, which must outlive this, for the replica
  /// `replica` of its target, counted from 0 on; `key` is that of the run.
  counted_fault(const arm_config& arm, std::size_t index, std::uint32_t replica,
                draw_key key);

  /// A request arrives. `may_begin`: otherwise the fault does not come again.
  change request(duration now, bool may_begin);

  /// When it begins or ends by itself; nothing if requests decide, or if it is
  /// over for good. Never earlier than the present.
  [[nodiscard]] std::optional<duration> due() const;

  /// That instant has come.
  change time_is_up(bool may_begin);

  [[nodiscard]] const fault_config& config() const noexcept { return *fault_; }

private:
  enum class state { waits, lasts, over };

  void wait(duration now);
  void begin(duration now);
  void end(duration now);
  void try_to_begin(duration now, bool may_begin, change& out);

  const fault_config* fault_;
  duration length_;
  keyed_random random_;
  state state_ = state::waits;
  /// Whether requests decide how long that goes on: after so many more, with
  /// the next one.
  bool by_count_ = false;
  std::int64_t left_ = 0;
  duration due_ = duration::zero();
};

} // namespace caisson::sim
