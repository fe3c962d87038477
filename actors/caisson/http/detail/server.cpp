#include <caisson/http/detail/server.hpp>

#include <caisson/http/detail/requests.hpp>

#include <fmt/format.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

using steady = std::chrono::steady_clock;

/// How many connections the system holds until they are accepted.
constexpr int backlog = 512;

/// How many requests one connection is good for.
constexpr int most_requests = 1'000;

/// What is closed with bytes unread makes the system throw away what was sent:
/// for so long the client gets time to read.
constexpr auto linger_time = std::chrono::milliseconds(100);

/// What the thread at hand is doing.
struct present_work {
  /// The connection has no place.
  bool turns_away = false;
  http_stream* stream = nullptr;
  /// Whether a handler has seen the request.
  bool handled = false;
  bool must_close = false;
  /// What the client accepts, hidden from the library, which would compress.
  std::string accepted = {};
};

thread_local present_work present;

void read_away(int fd) {
  char part[4'096];
  for (int i = 0; i < 16 && ::recv(fd, part, sizeof part, MSG_DONTWAIT) > 0;)
    ++i;
}

void linger_and_close(int fd) {
  ::shutdown(fd, SHUT_WR);
  auto end = steady::now() + linger_time;
  for (auto left = linger_time; left.count() > 0;
       left = std::chrono::ceil<std::chrono::milliseconds>(end
                                                           - steady::now())) {
    pollfd x{fd, POLLIN, 0};
    char part[4'096];
    if (::poll(&x, 1, static_cast<int>(left.count())) <= 0
        || ::recv(fd, part, sizeof part, MSG_DONTWAIT) <= 0)
      break;
  }
  ::close(fd);
}

} // namespace

// -- threads ------------------------------------------------------------------

// Gives connections to threads. One without a place is turned away at once, by
// the thread that accepts. While one waits, none is kept for a next request.
class http_server::queue final : public httplib::TaskQueue {
public:
  queue(http_server& owner, const http_server_limits& x)
    : owner_(owner), idle_(x.threads), max_waiting_(x.max_waiting) {
    try {
      for (std::size_t i = 0; i < x.threads; ++i)
        threads_.emplace_back([this] { work(); });
    } catch (...) {
      end();
      throw;
    }
  }

  ~queue() override { end(); }

  using accepted = decltype(std::declval<httplib::TaskQueue&>().enqueue(
    nullptr));

  accepted enqueue(std::function<void()> serve) override {
    {
      std::lock_guard guard{mutex_};
      if (waiting_.size() < idle_ + max_waiting_) {
        waiting_.push_back(std::move(serve));
        serve = nullptr;
        look_for_a_crowd();
      }
    }
    if (!serve) {
      arrived_.notify_one();
      if (owner_.crowded_)
        owner_.close_an_idle_one();
    } else {
      present.turns_away = true;
      serve();
      present.turns_away = false;
    }
    return static_cast<accepted>(true);
  }

  void shutdown() override { end(); }

private:
  void end() {
    {
      std::lock_guard guard{mutex_};
      ended_ = true;
    }
    arrived_.notify_all();
    for (auto& x : threads_)
      x.join();
    threads_.clear();
  }

  void work() {
    std::unique_lock guard{mutex_};
    for (;;) {
      arrived_.wait(guard, [this] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty())
        return;
      --idle_;
      auto serve = std::move(waiting_.front());
      waiting_.pop_front();
      look_for_a_crowd();
      guard.unlock();
      serve();
      serve = nullptr;
      guard.lock();
      ++idle_;
      look_for_a_crowd();
    }
  }

  void look_for_a_crowd() { owner_.crowded_ = waiting_.size() > idle_; }

  http_server& owner_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> waiting_;
  // Threads without a connection, also those that have yet to wake up for one.
  std::size_t idle_;
  std::size_t max_waiting_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

// -- one connection -----------------------------------------------------------

// Can be interrupted as long as it exists.
class http_server::connection {
public:
  explicit connection(http_server& owner) : owner_(owner) {
    std::lock_guard guard{owner_.mutex_};
    owner_.open_.insert(this);
    if (owner_.stopping_)
      signal_.interrupt(1);
  }

  ~connection() {
    std::lock_guard guard{owner_.mutex_};
    owner_.open_.erase(this);
  }

  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  interruption& signal() { return signal_; }

  /// Waits for the next request; returns whether it comes. The first one is
  /// waited for even if others wait for the thread.
  bool wait_for_more(http_stream& stream, bool first, time_point until) {
    set_idle(!first);
    auto comes = (first || !owner_.crowded_) && stream.wait_for_more(until);
    set_idle(false);
    return comes;
  }

  /// Closes it if it is idle; returns whether it was. By who holds the mutex.
  bool close_if_idle() {
    if (idle_)
      signal_.interrupt(1);
    return std::exchange(idle_, false);
  }

private:
  void set_idle(bool on) {
    std::lock_guard guard{owner_.mutex_};
    idle_ = on;
  }

  http_server& owner_;
  bool idle_ = false;
  interruption signal_;
};

http_limits http_server::message_limits() const noexcept {
  return {.start_line = 8'192, .body = 65'536 + 6 * limits_.max_body};
}

bool http_server::process_and_close_socket(socket_t sock) {
  if (present.turns_away) {
    turn_away(sock);
    return true;
  }
  int on = 1;
  ::setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  try {
    connection here{*this};
    http_stream stream{sock, here.signal(), true};
    for (int i = 1; i <= most_requests; ++i) {
      auto until = steady::now() + limits_.idle_timeout;
      if (!here.wait_for_more(stream, i == 1, until)
          || !process_one(stream, i == most_requests || crowded_))
        break;
    }
  } catch (const std::exception&) {
    // No memory, or no file descriptor: what is left is to close it.
  }
  present = {};
  linger_and_close(sock);
  return true;
}

bool http_server::process_one(http_stream& stream, bool last) {
  stream.begin(steady::now() + limits_.read_timeout, message_limits());
  present = {.stream = &stream};
  auto setup = [](httplib::Request& x) {
    // What it asks for is the worker's affair.
    x.ranges.clear();
    present.accepted = x.get_header_value("Accept-Encoding");
    x.headers.erase("Accept-Encoding");
    // All have one handler.
    x.path = "/";
  };
  auto closed = false;
  // In 0.18 it wants to know the addresses.
  auto process = [&](auto& self) {
    if constexpr (requires {
                    self.process_request(stream, last, closed, setup);
                  })
      return self.process_request(stream, last, closed, setup);
    else
      return self.process_request(stream, std::string{}, 0, std::string{}, 0,
                                  last, closed, setup);
  };
  return process(*this) && !closed && !present.must_close
         && stream.why() == http_stream::trouble::none;
}

void http_server::close_an_idle_one() {
  std::lock_guard guard{mutex_};
  for (auto* x : open_)
    if (x->close_if_idle())
      return;
}

void http_server::turn_away(socket_t sock) {
  ++turned_away_;
  constexpr std::string_view text = "HTTP/1.1 503 Service Unavailable\r\n"
                                    "Retry-After: 1\r\n"
                                    "Content-Type: text/plain\r\n"
                                    "Content-Length: 5\r\n"
                                    "Connection: close\r\n\r\n"
                                    "busy\n";
  [[maybe_unused]] auto n = ::send(sock, text.data(), text.size(),
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(sock, SHUT_WR);
  read_away(sock);
  ::close(sock);
}

// -- requests -----------------------------------------------------------------

http_server::http_server(const std::string& host, std::uint16_t port,
                         const http_server_limits& limits, server serve)
  : limits_(limits), serve_(std::move(serve)) {
  set_handlers();
  set_payload_max_length(limits_.max_body);
  set_keep_alive_max_count(most_requests);
  set_keep_alive_timeout(static_cast<time_t>(
    std::chrono::ceil<std::chrono::seconds>(limits_.idle_timeout).count()));
  // The library's own options let another program listen on the same port.
  set_socket_options([](socket_t x) {
    int on = 1;
    ::setsockopt(x, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  // Not by the thread that accepts, where nobody hears if that fails.
  auto threads = std::make_shared<std::unique_ptr<queue>>(
    std::make_unique<queue>(*this, limits_));
  new_task_queue = [threads] { return threads->release(); };
  auto bound = port == 0                  ? bind_to_any_port(host)
               : bind_to_port(host, port) ? port
                                          : -1;
  if (bound <= 0)
    throw std::runtime_error{
      fmt::format("cannot listen on {} port {}", host, port)};
  port_ = static_cast<std::uint16_t>(bound);
  ::listen(svr_sock_, backlog);
  thread_ = std::thread{[this] { listen_after_bind(); }};
  // To stop it before it runs would have no effect.
  while (!is_running())
    std::this_thread::yield();
}

http_server::~http_server() {
  stop();
  {
    std::lock_guard guard{mutex_};
    stopping_ = true;
    for (auto* x : open_)
      x->signal().interrupt(1);
  }
  thread_.join();
}

void http_server::set_handlers() {
  auto handler = [this](const httplib::Request& in, httplib::Response& out) {
    serve(in, out);
  };
  Get("/", handler);
  Post("/", handler);
  Put("/", handler);
  Patch("/", handler);
  Delete("/", handler);
  Options("/", handler);
  set_pre_routing_handler(
    [](const httplib::Request& in, httplib::Response& out) {
      auto status = refusal_of(in);
      if (status == 0)
        return HandlerResponse::Unhandled;
      out.status = status;
      return HandlerResponse::Handled;
    });
  // After what the library answers by itself, the rest of the request may come.
  set_error_handler(
    Handler{[](const httplib::Request&, httplib::Response& out) {
      if (present.handled)
        return;
      present.must_close = true;
      out.set_header("Connection", "close");
    }});
}

void http_server::serve(const httplib::Request& in, httplib::Response& out) {
  present.handled = true;
  auto request = request_of(in);
  if (!present.accepted.empty())
    request.headers.emplace("accept-encoding", present.accepted);
  auto answer = serve_(request);
  if (present.stream)
    present.stream->prolong(steady::now() + limits_.read_timeout);
  ++answered_;
  write_to(out, std::move(answer));
}

} // namespace caisson::detail
