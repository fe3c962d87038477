#include <caisson/config/reload_watch.hpp>

#include <caisson/caf/messages.hpp>
#include <caisson/settings/settings.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace caisson {

void describe(field_visitor& v, reload_watch_config& c) {
  using namespace std::chrono_literals;
  v.on({"on_hangup", "whether SIGHUP asks for a reload"}, c.on_hangup);
  v.on({"on_change", "whether a change of the file does"}, c.on_change);
  // Two changes within a tick of the kernel's clock may look the same.
  v.on({"debounce",
        "time without changes before a reload, and between reloads by "
        "signals"},
       c.debounce, {20ms, 1min});
}

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

class descriptor {
public:
  descriptor() = default;
  descriptor(int x, const char* what) : fd_(x) {
    if (x < 0)
      fail(what);
  }
  ~descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }

  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }

private:
  int fd_ = -1;
};

// -- the signal ---------------------------------------------------------------

// Where the handler writes to. Never closed: a handler may still run when its
// watch has ended.
std::atomic<int> hangup_event{-1};
static_assert(std::atomic<int>::is_always_lock_free);

std::atomic<bool> hangup_taken{false};

void on_hangup(int) {
  auto before = errno;
  const std::uint64_t one = 1;
  // If the counter is full, somebody was notified often enough.
  static_cast<void>(!::write(hangup_event.load(), &one, sizeof one));
  errno = before;
}

void empty(int fd) {
  std::array<char, 4096> buffer;
  while (read(fd, buffer.data(), buffer.size()) > 0) {
  }
}

/// Has the signal, until its end.
class hangup {
public:
  hangup() {
    if (hangup_taken.exchange(true)) {
      errno = EBUSY;
      fail("another watch already handles SIGHUP");
    }
    if (!install()) {
      hangup_taken = false;
      fail("SIGHUP cannot be watched");
    }
  }

  ~hangup() {
    sigaction(SIGHUP, &before_, nullptr);
    hangup_taken = false;
  }

  hangup(const hangup&) = delete;
  hangup& operator=(const hangup&) = delete;

  [[nodiscard]] int get() const noexcept { return hangup_event.load(); }

private:
  bool install() {
    if (get() < 0)
      hangup_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (get() < 0)
      return false;
    empty(get());
    struct sigaction act = {};
    act.sa_handler = on_hangup;
    act.sa_flags = SA_RESTART;
    sigemptyset(&act.sa_mask);
    return sigaction(SIGHUP, &act, &before_) == 0;
  }

  struct sigaction before_ = {};
};

// -- the file -----------------------------------------------------------------

/// What distinguishes a file from what it was before. Links are followed: what
/// is put in place of the file may be behind one.
using file_state = std::tuple<bool, dev_t, ino_t, off_t, std::int64_t>;

file_state state_of(const std::string& path) {
  struct stat x = {};
  if (stat(path.c_str(), &x) != 0)
    return {};
  return {true, x.st_dev, x.st_ino, x.st_size,
          std::int64_t{x.st_mtim.tv_sec} * 1'000'000'000 + x.st_mtim.tv_nsec};
}

/// The directory of a file. All that happens there is a reason to look.
class directory_watch {
public:
  explicit directory_watch(const std::filesystem::path& dir) {
    constexpr std::uint32_t what = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO
                                   | IN_CREATE | IN_DELETE | IN_ATTRIB;
    if (inotify_add_watch(event_.get(), dir.c_str(), what) < 0)
      fail(dir.c_str());
  }

  [[nodiscard]] int get() const noexcept { return event_.get(); }

private:
  descriptor event_{inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "inotify"};
};

} // namespace

// -- the thread ---------------------------------------------------------------

class reload_watch::watcher {
public:
  watcher(caf::actor controller, const std::filesystem::path& file,
          const reload_watch_config& c)
    : controller_(std::move(controller)), config_(c), file_(file.string()) {
    if (c.on_hangup)
      signal_ = std::make_unique<hangup>();
    if (c.on_change) {
      auto dir = file.parent_path();
      directory_ = std::make_unique<directory_watch>(dir.empty() ? "." : dir);
      // It may have changed since the gates were made.
      look();
    }
    thread_ = std::thread{[this] { run(); }};
  }

  ~watcher() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_.get(), &one, sizeof one));
    thread_.join();
  }

  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

private:
  using clock = std::chrono::steady_clock;

  void run() {
    if (signal_)
      take_signal();
    // Those without a descriptor are ignored by `poll`.
    std::array<pollfd, 3> all{{
      {stop_.get(), POLLIN, 0},
      {-1, POLLIN, 0},
      {directory_ ? directory_->get() : -1, POLLIN, 0},
    }};
    for (;;) {
      // A signal that comes too early waits in its descriptor.
      rests_ = rests_ && clock::now() < rested_at_;
      all[1].fd = signal_ && !rests_ ? signal_->get() : -1;
      if (poll(all.data(), all.size(), wait()) < 0) {
        if (errno == EINTR)
          continue;
        return;
      }
      if (all[0].revents != 0)
        return;
      if (all[1].revents != 0)
        hung_up(all[1].fd);
      if (all[2].revents != 0) {
        empty(all[2].fd);
        look();
      }
      if (waits_ && clock::now() >= wait_end_)
        finish_wait();
    }
  }

  // All other threads may block it.
  static void take_signal() {
    sigset_t hangups;
    sigemptyset(&hangups);
    sigaddset(&hangups, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &hangups, nullptr);
  }

  // In milliseconds, rounded up.
  [[nodiscard]] int wait() const {
    if (!waits_ && !rests_)
      return -1;
    auto next = waits_ && rests_ ? std::min(wait_end_, rested_at_)
                : waits_         ? wait_end_
                                 : rested_at_;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(next
                                                             - clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }

  void hung_up(int fd) {
    empty(fd);
    rests_ = true;
    rested_at_ = clock::now() + config_.debounce;
    known_ = state_of(file_);
    waits_ = false;
    ask("SIGHUP");
    // A further change right now may look the same.
    if (directory_ && is_recent(known_)) {
      known_ = {};
      look();
    }
  }

  [[nodiscard]] bool is_recent(const file_state& x) const {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::nanoseconds{std::get<4>(x)} > now - config_.debounce;
  }

  // Something has happened in the directory, perhaps not to the file.
  void look() {
    auto now = state_of(file_);
    if (now == (waits_ ? seen_ : known_))
      return;
    seen_ = now;
    waits_ = true;
    wait_end_ = clock::now() + config_.debounce;
  }

  // A file that is gone is about to be replaced, or nothing to go by.
  void finish_wait() {
    waits_ = false;
    seen_ = state_of(file_);
    if (!std::get<bool>(seen_) || seen_ == known_)
      return;
    known_ = seen_;
    ask("the file has changed");
  }

  void ask(std::string why) {
    portable::send_anon(controller_, reload{std::move(why)});
  }

  const caf::actor controller_;
  const reload_watch_config config_;
  const std::string file_;
  /// As it was when a reload was asked for last.
  file_state known_ = {};
  /// As it was when it was seen last, while it `waits_`.
  file_state seen_ = {};
  bool waits_ = false;
  clock::time_point wait_end_;
  /// After a signal, until another one counts.
  bool rests_ = false;
  clock::time_point rested_at_;
  descriptor stop_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd"};
  std::unique_ptr<hangup> signal_;
  std::unique_ptr<directory_watch> directory_;
  std::thread thread_;
};

reload_watch::reload_watch(caf::actor controller,
                           const std::filesystem::path& file,
                           reload_watch_config c) {
  require_valid(c);
  watcher_ = std::make_unique<watcher>(std::move(controller), file, c);
}

reload_watch::~reload_watch() = default;

} // namespace caisson
