// The part of hooks.hpp that watches actors which many others watch. Included
// by interceptor.hpp only.
#pragma once

#if CAISSON_CAF_LEGACY

#include <atomic>
#include <mutex>

namespace caisson::portable {

/// Who watches one actor: how many entries its list has, and how many of those
/// are over.
struct watched_actor;

/// One actor watches another one, for a down message.
///
/// CAF's own monitors leave the list of the watched actor one at a time, each
/// after a search through the whole list: of thousands that watch one actor and
/// end, each would search among all others. A `down_watch` that is over stays
/// in the list, without effect, until half of the list is over; then all these
/// leave in one search.
class down_watch {
public:
  /// `actor` will get a down message once `x` has ended; at once if it has
  /// already.
  static std::shared_ptr<down_watch> begin(const caf::strong_actor_ptr& x,
                                           caf::actor_addr actor);

  down_watch(std::shared_ptr<watched_actor> among, caf::actor_addr actor);
  ~down_watch();

  down_watch(const down_watch&) = delete;
  down_watch& operator=(const down_watch&) = delete;

  /// `actor` gets no down message any more, unless it is in flight. `x` is the
  /// watched actor, null if that is gone.
  void end(const caf::strong_actor_ptr& x);

  // -- for the list of the watched actor --------------------------------------

  void notify(caf::actor_addr x, const caf::error& why,
              caf::execution_unit* on);
  [[nodiscard]] bool over() const noexcept { return over_; }
  void leave_list();

private:
  const std::shared_ptr<watched_actor> among_;
  std::mutex mutex_;
  caf::actor_addr actor_;
  std::atomic<bool> over_ = false;
};

} // namespace caisson::portable

#endif
