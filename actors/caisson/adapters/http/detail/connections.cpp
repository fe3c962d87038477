#include <caisson/adapters/http/detail/connections.hpp>

namespace caisson::detail {

namespace {

using phase = enum http_connection::phase;

bool is_idle(const http_connection& x) {
  return x.phase == phase::handshake || x.phase == phase::reading
         || x.phase == phase::lingering;
}

} // namespace

http_connection& http_connections::add(accepted_socket s,
                                       const http_limits& limits,
                                       std::unique_ptr<http_tls_session> tls) {
  auto fd = s.fd;
  auto connection = std::make_unique<http_connection>(std::move(s), limits);
  auto& x = *connection;
  all_.emplace(fd, std::move(connection));
  ++peers_[x.peer].connections;
  x.tls = std::move(tls);
  enter(x, x.tls ? phase::handshake : phase::reading);
  return x;
}

void http_connections::remove(http_connection& x) {
  leave(x);
  timers_.erase({x.until, &x});
  if (auto i = peers_.find(x.peer); --i->second.connections == 0)
    peers_.erase(i);
  all_.erase(x.fd.get());
}

http_connection* http_connections::find(int fd) const {
  auto i = all_.find(fd);
  return i == all_.end() ? nullptr : i->second.get();
}

std::size_t http_connections::of_peer(const std::string& peer) const {
  auto i = peers_.find(peer);
  return i == peers_.end() ? 0 : i->second.connections;
}

// -- who gives way ------------------------------------------------------------

void http_connections::enter(http_connection& x, phase p) {
  leave(x);
  x.phase = p;
  x.turn = p == phase::lingering ? 0 : ++turns_;
  insert(x);
}

void http_connections::renew(http_connection& x) {
  leave(x);
  x.turn = ++turns_;
  insert(x);
}

void http_connections::insert(http_connection& x) {
  if (is_idle(x)) {
    idle_.emplace(x.turn, &x);
    peers_[x.peer].idle.emplace(x.turn, &x);
  } else if (x.phase == phase::writing) {
    writing_.emplace(x.turn, &x);
    x.counted = x.out.size();
    x.counted_body = x.shared;
    unread_ += x.counted;
    if (x.shared && bodies_[x.shared.get()]++ == 0)
      unread_ += x.shared->size();
  }
}

void http_connections::leave(http_connection& x) {
  if (is_idle(x)) {
    idle_.erase({x.turn, &x});
    peers_[x.peer].idle.erase({x.turn, &x});
    return;
  }
  if (writing_.erase({x.turn, &x}) == 0)
    return;
  unread_ -= std::exchange(x.counted, 0);
  auto body = std::exchange(x.counted_body, nullptr);
  if (auto i = bodies_.find(body.get());
      i != bodies_.end() && --i->second == 0) {
    unread_ -= body->size();
    bodies_.erase(i);
  }
}

http_connection* http_connections::idlest(const std::string& peer) const {
  if (peer.empty())
    return idle_.empty() ? nullptr : idle_.begin()->second;
  auto i = peers_.find(peer);
  return i == peers_.end() || i->second.idle.empty()
           ? nullptr
           : i->second.idle.begin()->second;
}

http_connection* http_connections::least_read() const {
  return writing_.empty() ? nullptr : writing_.begin()->second;
}

// -- timers -------------------------------------------------------------------

void http_connections::set_timer(http_connection& x, time_point until) {
  timers_.erase({x.until, &x});
  x.until = until;
  if (until != never)
    timers_.emplace(until, &x);
}

time_point http_connections::next_timer() const {
  return timers_.empty() ? never : timers_.begin()->first;
}

http_connection* http_connections::late(time_point now) const {
  return next_timer() > now ? nullptr : timers_.begin()->second;
}

} // namespace caisson::detail
