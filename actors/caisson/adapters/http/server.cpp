#include <caisson/adapters/http/server.hpp>

#include <caisson/adapters/http/detail/connections.hpp>
#include <caisson/adapters/http/detail/requests.hpp>
#include <caisson/adapters/http/detail/worker_threads.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

using steady = std::chrono::steady_clock;
using phase = enum http_connection::phase;
using stage = http_parser::stage;

/// How many requests one connection is good for.
constexpr int most_requests = 1'000;

/// How long a client that is quiet gets to read its last answer; and how much
/// of what it still sends is read. What is closed with bytes unread makes the
/// system throw away what was sent.
constexpr auto linger_time = std::chrono::seconds(1);
constexpr auto linger_time_at_end = std::chrono::milliseconds(100);
constexpr std::size_t most_lingered = 16 << 20;

/// How long nothing is accepted when the process has no file descriptor left.
constexpr auto pause = std::chrono::milliseconds(50);

int require_fd(int fd) {
  if (fd < 0)
    throw std::system_error{errno, std::generic_category(), "http_server"};
  return fd;
}

} // namespace

// All but the threads belongs to the thread that runs the loop.
struct http_server::parts {
  parts(const std::string& host, std::uint16_t port,
        const http_server_limits& x, http_service s,
        const http_tls_files& files)
    : limits(x), service(std::move(s)), tls(make_http_tls(files)),
      entrance(listen_at(host, port)), bound(port_of(entrance.get())),
      epoll(require_fd(::epoll_create1(EPOLL_CLOEXEC))),
      bell(require_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))),
      threads(
        x.threads, x.max_waiting, [this](http_connection& c) { answer(c); },
        [this] { ring(); }) {
    watch(entrance.get(), EPOLLIN, EPOLL_CTL_ADD);
    watch(bell.get(), EPOLLIN, EPOLL_CTL_ADD);
    loop = std::thread{[this] { run(); }};
  }

  ~parts() {
    stopping = true;
    ring();
    loop.join();
  }

  parts(const parts&) = delete;
  parts& operator=(const parts&) = delete;

  // -- threads ----------------------------------------------------------------

  void answer(http_connection& x) {
    http_answer response{http_response{500, {}, {}}};
    try {
      response = x.answer_by <= steady::now()
                   ? http_answer{short_answer(504)}
                   : service.serve(request_of(x.parser), x.answer_by);
    } catch (...) {
      // Whoever serves has to see to it; the client is notified in any case.
    }
    ++answered;
    auto length = response.shared ? std::optional{response.shared->size()}
                                  : std::nullopt;
    x.out = bytes_of(response.head, x.to_head, x.last, length);
    if (!x.to_head && has_content(response.head.status))
      x.shared = std::move(response.shared);
  }

  void ring() {
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(bell.get(), &one, sizeof one);
  }

  // -- the loop ---------------------------------------------------------------

  void run() {
    std::vector<epoll_event> events(256);
    while (!stopping || all.size() > 0) {
      auto n = ::epoll_wait(epoll.get(), events.data(),
                            static_cast<int>(events.size()), patience());
      now = steady::now();
      auto comes = false;
      for (int i = 0; i < n; ++i) {
        auto fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == entrance.get())
          comes = true;
        else if (fd == bell.get())
          take_answered();
        else if (auto* x = all.find(fd))
          attend_to(*x);
      }
      expire_connections();
      if (stopping)
        stop();
      // Last: an event above may concern another one with the same number.
      else if (comes || now >= paused_until)
        accept();
    }
  }

  // In milliseconds.
  int patience() {
    auto until = std::min(paused_until, all.next_timer());
    if (until == never)
      return -1;
    auto left = time_until(until, steady::now());
    return static_cast<int>(std::clamp<std::int64_t>(
      std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0, 60'000));
  }

  void watch(int fd, std::uint32_t events, int how) {
    epoll_event x{};
    x.events = events;
    x.data.fd = fd;
    ::epoll_ctl(epoll.get(), how, fd, &x);
  }

  // What is not waited for is not even notified that the client has left.
  void await(http_connection& x, std::uint32_t events) {
    watch(x.fd.get(), (x.awaits != 0 ? x.awaits : events) | EPOLLONESHOT,
          EPOLL_CTL_MOD);
  }

  // -- connections ------------------------------------------------------------

  void accept() {
    if (paused_until != never) {
      paused_until = never;
      watch(entrance.get(), EPOLLIN, EPOLL_CTL_MOD);
    }
    for (int i = 0; i < 64; ++i) {
      auto x = accept_at(entrance.get());
      if (x.fd < 0) {
        auto is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS
                       || errno == ENOMEM;
        if (is_full && !make_room({})) {
          paused_until = now + pause;
          watch(entrance.get(), 0, EPOLL_CTL_MOD);
          return;
        }
        if (!is_full)
          return;
        continue;
      }
      if (has_room(x.peer))
        add(std::move(x));
      else
        reject_connection(x.fd);
    }
  }

  bool has_room(const std::string& peer) {
    if (all.of_peer(peer) >= limits.max_per_peer)
      return make_room(peer);
    return all.size() < limits.max_connections || make_room({});
  }

  // Closes the connection that has been without a complete request for the
  // longest time: of this peer, or of any if it is empty.
  bool make_room(const std::string& peer) {
    while (auto* x = all.idlest(peer)) {
      auto fd = x->fd.get();
      auto turn = x->turn;
      // Perhaps its request has come, and was not read yet.
      if (x->phase == phase::reading && x->has_input()) {
        attend_to(*x);
        x = all.find(fd);
        if (!x)
          return true;
        if (x->phase != phase::reading || x->turn != turn)
          continue;
      }
      all.remove(*x);
      return true;
    }
    return false;
  }

  void reject_connection(int socket) {
    owned_fd fd{socket};
    ++rejected;
    // A handshake would take more than there is.
    if (tls)
      return;
    auto text = bytes_of(short_answer(503), false, true);
    [[maybe_unused]] auto n = ::send(socket, text.data(), text.size(),
                                     MSG_NOSIGNAL);
    ::shutdown(socket, SHUT_WR);
    char part[4'096];
    for (int i = 0; i < 16 && ::recv(socket, part, sizeof part, 0) > 0;)
      ++i;
  }

  void add(accepted_socket s) {
    auto fd = s.fd;
    std::unique_ptr<http_tls_session> session;
    if (tls && !(session = tls->begin(fd, now)))
      return reject_connection(fd);
    auto& x = all.add(std::move(s),
                      {.start_line = 8'192, .body = limits.max_body},
                      std::move(session));
    watch(fd, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD);
    all.set_timer(x,
                  now + (tls ? limits.handshake_timeout : limits.idle_timeout));
  }

  void attend_to(http_connection& x) {
    try {
      go_on(x);
    } catch (const std::exception&) {
      // No memory: what is left is to close it.
      all.remove(x);
    }
  }

  void go_on(http_connection& x) {
    switch (x.phase) {
      case phase::handshake:
        return continue_handshake(x);
      case phase::reading:
        return x.read() ? handle_input(x) : all.remove(x);
      case phase::writing:
        return write_more(x);
      case phase::lingering:
        return x.read() ? continue_linger(x) : all.remove(x);
      case phase::answering:
        return;
    }
  }

  void continue_handshake(http_connection& x) {
    switch (x.continue_handshake()) {
      case http_tls_step::result::done:
        all.enter(x, phase::reading);
        all.set_timer(x, now + limits.idle_timeout);
        return await(x, EPOLLIN);
      case http_tls_step::result::over:
        ++failed_handshakes;
        return end_handshake(x);
      case http_tls_step::result::wants_read:
      case http_tls_step::result::wants_write:
        return await(x, EPOLLIN);
    }
  }

  // The client gets time to read why: an alert of TLS, or an answer to one that
  // speaks plain HTTP.
  void end_handshake(http_connection& x) {
    if (x.tls->spoke_http()) {
      x.tls.reset();
      auto answer = short_answer(400);
      answer.body = "this port speaks HTTPS\n";
      x.last = true;
      x.out = bytes_of(answer, false, true);
      return begin_writing(x);
    }
    all.enter(x, phase::lingering);
    x.end_writing();
    x.linger_until = now + linger_time;
    continue_linger(x);
  }

  // Something may have been read.
  void handle_input(http_connection& x) {
    auto before = x.parser.at();
    x.parse();
    auto at = x.parser.at();
    if (auto status = refusal_of(x.parser); status != 0)
      return refuse(x, status);
    if (at == stage::done)
      return have_answered(x);
    if (before == stage::start && at != stage::start) {
      all.renew(x);
      x.whole_by = now + limits.read_timeout;
      all.set_timer(x, std::min(x.whole_by, now + limits.head_timeout));
    }
    if (at == stage::body && before != stage::body) {
      all.set_timer(x, x.whole_by);
      if (!send_continue(x))
        return all.remove(x);
    }
    await(x, EPOLLIN);
  }

  static bool send_continue(http_connection& x) {
    return !x.parser.wants_continue() || !x.in.empty()
           || x.write_at_once("HTTP/1.1 100 Continue\r\n\r\n");
  }

  void have_answered(http_connection& x) {
    ++x.requests;
    x.to_head = x.parser.method() == "HEAD";
    x.last = x.parser.closes() || x.requests >= most_requests || stopping;
    x.answer_by = never;
    if (service.time_for)
      x.answer_by = now + service.time_for(x.parser.headers());
    all.enter(x, phase::answering);
    all.set_timer(x, x.answer_by);
    if (threads.take(x))
      return;
    ++rejected;
    refuse(x, 503);
  }

  void refuse(http_connection& x, int status) {
    x.last = true;
    auto to_head = x.parser.at() != stage::start && x.parser.method() == "HEAD";
    x.out = bytes_of(short_answer(status), to_head, true);
    begin_writing(x);
  }

  void take_answered() {
    std::uint64_t n = 0;
    [[maybe_unused]] auto got = ::read(bell.get(), &n, sizeof n);
    for (auto* x : threads.give_back())
      begin_writing(*x);
  }

  void begin_writing(http_connection& x) {
    x.written = 0;
    all.enter(x, phase::writing);
    all.set_timer(x, now + limits.read_timeout);
    if (!x.write())
      return all.remove(x);
    if (!x.all_written())
      limit_unread(x);
    go_on_writing(x);
  }

  // Closes others until what is left, with `newest`, is not too much.
  void limit_unread(const http_connection& newest) {
    while (all.unread() > limits.max_unread
           || all.bodies() > limits.max_bodies) {
      auto* x = all.least_read();
      if (x == &newest)
        return;
      all.remove(*x);
    }
  }

  void write_more(http_connection& x) {
    auto before = x.written;
    if (!x.write())
      return all.remove(x);
    if (x.written != before)
      all.renew(x);
    go_on_writing(x);
  }

  void go_on_writing(http_connection& x) {
    if (!x.all_written())
      return await(x, EPOLLOUT);
    // What is closed without lingering may lose what was just written.
    x.last = x.last || stopping;
    all.enter(x, x.last ? phase::lingering : phase::reading);
    x.out = {};
    x.shared = {};
    if (x.last) {
      x.end_writing();
      x.linger_until = now
                       + (stopping ? duration{linger_time_at_end}
                                   : limits.read_timeout);
      return continue_linger(x);
    }
    x.parser.begin();
    all.set_timer(x, now + limits.idle_timeout);
    handle_input(x);
  }

  void continue_linger(http_connection& x) {
    if (x.lingered > most_lingered)
      return all.remove(x);
    all.set_timer(x, std::min<time_point>(x.linger_until, now + linger_time));
    await(x, EPOLLIN);
  }

  void expire_connections() {
    while (auto* x = all.late(now)) {
      if (x->phase == phase::reading && x->parser.at() != stage::start)
        refuse(*x, 408);
      else if (x->phase == phase::answering)
        answer_for_threads(*x);
      else {
        failed_handshakes += x->phase == phase::handshake ? 1 : 0;
        all.remove(*x);
      }
    }
  }

  // A thread that has it answers by itself.
  void answer_for_threads(http_connection& x) {
    all.set_timer(x, never);
    if (!threads.withdraw(x))
      return;
    ++answered;
    x.out = bytes_of(short_answer(504), x.to_head, x.last);
    begin_writing(x);
  }

  // Closes what is not in progress.
  void stop() {
    entrance.reset();
    std::vector<http_connection*> idle;
    all.for_each([&](http_connection& x) {
      if (x.phase == phase::handshake || x.phase == phase::reading)
        idle.push_back(&x);
      if (x.phase == phase::lingering) {
        x.linger_until = std::min(x.linger_until, now + linger_time_at_end);
        all.set_timer(x, std::min(x.until, x.linger_until));
      }
    });
    for (auto* x : idle)
      all.remove(*x);
  }

  const http_server_limits limits;
  const http_service service;
  const std::unique_ptr<http_tls> tls;
  owned_fd entrance;
  const std::uint16_t bound;
  owned_fd epoll;
  owned_fd bell;
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint64_t> failed_handshakes{0};
  std::atomic<bool> stopping{false};

  time_point now = steady::now();
  time_point paused_until = never;
  http_connections all;

  http_worker_threads threads;
  std::thread loop;
};

http_server::http_server(const std::string& host, std::uint16_t port,
                         const http_server_limits& limits, http_service service,
                         const http_tls_files& files)
  : parts_(
    std::make_unique<parts>(host, port, limits, std::move(service), files)) {}

http_server::~http_server() = default;

std::uint16_t http_server::port() const noexcept {
  return parts_->bound;
}

std::uint64_t http_server::answered() const noexcept {
  return parts_->answered;
}

std::uint64_t http_server::rejected() const noexcept {
  return parts_->rejected;
}

std::uint64_t http_server::failed_handshakes() const noexcept {
  return parts_->failed_handshakes;
}

std::string http_server::tls_problem() const {
  return parts_->tls ? parts_->tls->problem() : std::string{};
}

} // namespace caisson::detail
