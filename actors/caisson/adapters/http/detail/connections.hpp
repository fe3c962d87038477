// Connections of a server, and the order in which they are closed to make room.
#pragma once

#include <caisson/adapters/http/detail/connection.hpp>
#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace caisson::detail {

/// Used by one thread. What it takes grows with the logarithm of how many there
/// are.
class http_connections {
public:
  /// `tls`: null without TLS.
  http_connection& add(accepted_socket x, const http_limits& limits,
                       std::unique_ptr<http_tls_session> tls);

  /// Closes it.
  void remove(http_connection& x);

  /// Null if there is none.
  [[nodiscard]] http_connection* find(int fd) const;

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t of_peer(const std::string& peer) const;

  template <class F>
  void for_each(F f) {
    for (auto& [fd, x] : all_)
      f(*x);
  }

  // -- who gives way ----------------------------------------------------------

  /// A phase of the connection begins. An answer to be written is complete by
  /// then.
  void enter(http_connection& x, enum http_connection::phase p);

  /// The connection is the last of its phase to give way from now on.
  void renew(http_connection& x);

  /// That which has been without a complete request for the longest time, first
  /// one that is only kept until its client has read: of this peer, or of any
  /// if it is empty. Null if all are busy.
  [[nodiscard]] http_connection* idlest(const std::string& peer) const;

  /// That whose client has taken nothing of its answer for the longest time.
  [[nodiscard]] http_connection* least_read() const;

  /// How many bytes the answers have that are being written; what several share
  /// counts once.
  [[nodiscard]] std::size_t unread() const noexcept { return unread_; }

  /// How many different bodies that are shared are among them.
  [[nodiscard]] std::size_t bodies() const noexcept { return bodies_.size(); }

  // -- timers -----------------------------------------------------------------

  /// When this phase ends in any case.
  void set_timer(http_connection& x, time_point until);
  [[nodiscard]] time_point next_timer() const;

  /// One whose time is over; null if none's is.
  [[nodiscard]] http_connection* late(time_point now) const;

private:
  using order = std::set<std::pair<std::uint64_t, http_connection*>>;

  struct peer_entry {
    std::size_t connections = 0;
    order idle = {};
  };

  void leave(http_connection& x);
  void insert(http_connection& x);

  std::unordered_map<int, std::unique_ptr<http_connection>> all_;
  std::unordered_map<std::string, peer_entry> peers_;
  order idle_;
  order writing_;
  std::map<const std::string*, std::size_t> bodies_;
  std::size_t unread_ = 0;
  // Times would be the same for those that came together.
  std::uint64_t turns_ = 0;
  std::set<std::pair<time_point, http_connection*>> timers_;
};

} // namespace caisson::detail
