#include <caisson/adapters/postgres/detail/opener.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace caisson::detail {

namespace {

// What a server says until a client is let in has a few kilobytes.
constexpr std::int64_t most_while_connecting = 1 << 20;

constexpr std::uint64_t attempt_number = 1;

// If libpq has OpenSSL, that takes itself apart when the process ends, which
// crashes under a thread that still derives a key. All of its memory goes with
// the process anyway.
void keep_openssl() {
  constexpr std::uint64_t no_atexit = 0x80000;
  using init = int (*)(std::uint64_t, const void*);
  if (auto f = reinterpret_cast<init>(
        ::dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto")))
    f(no_atexit, nullptr);
}

} // namespace

struct postgres_opener::places {
  explicit places(std::uint32_t n) : left(n) {}

  bool take() noexcept {
    auto n = left.load();
    while (n > 0)
      if (left.compare_exchange_weak(n, n - 1))
        return true;
    return false;
  }

  std::atomic<std::uint32_t> left;
};

// Shared by the thread that connects and the one that waits for it.
class postgres_opener::attempt {
public:
  attempt(std::string connection, time_point until,
          std::shared_ptr<places> owner)
    : text_(std::move(connection)), until_(until), places_(std::move(owner)),
      done_(::eventfd(0, EFD_CLOEXEC)) {
    if (done_ < 0)
      throw std::system_error{errno, std::generic_category(), "eventfd"};
    signal_.begin(attempt_number);
  }

  ~attempt() {
    ::close(done_);
    drop_socket();
  }

  attempt(const attempt&) = delete;
  attempt& operator=(const attempt&) = delete;

  // -- for the thread that connects -------------------------------------------

  void run() {
    postgres_connection c{PQconnectStart(text_.c_str())};
    auto problem = c ? opened(*c) : "no memory";
    std::lock_guard guard{mutex_};
    drop_socket();
    ++places_->left;
    // A connection that nobody waits for ends here.
    if (abandoned_)
      return;
    if (problem.empty())
      result_.connection = std::move(c);
    result_.problem = std::move(problem);
    const std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(done_, &one, sizeof one);
  }

  // -- for the one that waits -------------------------------------------------

  [[nodiscard]] int done() const noexcept { return done_; }

  result take() {
    std::lock_guard guard{mutex_};
    return std::move(result_);
  }

  // Makes what can be ended end.
  void abandon() {
    std::lock_guard guard{mutex_};
    abandoned_ = true;
    signal_.interrupt(attempt_number);
    if (socket_ >= 0)
      ::shutdown(socket_, SHUT_RDWR);
  }

private:
  // Returns why it is not.
  std::string opened(PGconn& c) {
    // Otherwise what the server remarks goes to stderr.
    PQsetNoticeReceiver(
      &c, [](void*, const PGresult*) {}, nullptr);
    // Otherwise libpq waits for a server that asks on and reads nothing.
    PQsetnonblocking(&c, 1);
    std::int64_t size = 0;
    for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
      if (PQstatus(&c) == CONNECTION_BAD || state == PGRES_POLLING_FAILED)
        return PQerrorMessage(&c);
      short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
      if (!keep_socket(PQsocket(&c))
          || signal_.wait(PQsocket(&c), events, until_)
               != interruption::wake::ready)
        return "connect timed out";
      auto n = 0;
      if (::ioctl(PQsocket(&c), FIONREAD, &n) == 0)
        size += n;
      if (size > most_while_connecting)
        return "the server sent more than "
               + std::to_string(most_while_connecting)
               + " bytes during connect";
      state = PQconnectPoll(&c);
    }
    if (PQsetnonblocking(&c, 1) != 0 || PQenterPipelineMode(&c) != 1)
      return PQerrorMessage(&c);
    return {};
  }

  // libpq may close its own descriptor at any time; the system might give its
  // number to something else.
  bool keep_socket(int fd) {
    std::lock_guard guard{mutex_};
    drop_socket();
    socket_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return !abandoned_;
  }

  void drop_socket() noexcept {
    if (socket_ >= 0)
      ::close(std::exchange(socket_, -1));
  }

  std::string text_;
  time_point until_;
  std::shared_ptr<places> places_;
  interruption signal_;
  int done_;
  std::mutex mutex_;
  bool abandoned_ = false;
  int socket_ = -1;
  result result_;
};

postgres_opener::postgres_opener(std::string connection, std::uint32_t most)
  : connection_(std::move(connection)),
    places_(std::make_shared<places>(most)) {
  [[maybe_unused]] static const auto once = (keep_openssl(), true);
}

postgres_opener::~postgres_opener() = default;

postgres_opener::result postgres_opener::open(interruption& signal,
                                              time_point until) {
  using steady = std::chrono::steady_clock;
  std::shared_ptr<attempt> x;
  try {
    x = std::make_shared<attempt>(connection_, until, places_);
  } catch (const std::system_error& e) {
    // There are as many descriptors as there may be.
    return {nullptr, e.what()};
  }
  // One that was left alone is at its end, as a rule.
  while (!places_->take()) {
    auto soon = steady::now() + std::chrono::milliseconds(5);
    if (soon >= until
        || signal.wait(x->done(), POLLIN, soon)
             == interruption::wake::interrupted)
      return {nullptr, "earlier attempts to connect have not ended"};
  }
  try {
    std::thread{[x] { x->run(); }}.detach();
  } catch (const std::system_error& e) {
    ++places_->left;
    return {nullptr, e.what()};
  }
  if (signal.wait(x->done(), POLLIN, until) == interruption::wake::ready)
    return x->take();
  x->abandon();
  return {nullptr, "connect timed out"};
}

} // namespace caisson::detail
