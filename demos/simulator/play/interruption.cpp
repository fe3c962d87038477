#include <simulator/play/interruption.hpp>

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace caisson::sim {

namespace {

constexpr int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
static_assert(std::size(watched) == signal_watch::signals);

std::atomic<bool> was_caught{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// When, in milliseconds of the monotonic clock.
std::atomic<std::int64_t> caught_at{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Signals within so many milliseconds are one: `timeout` sends its own to the
// process and again to its group.
constexpr std::int64_t one_signal = 100;

// How many of `ends_at_once` there are.
std::atomic<int> at_once{0};
static_assert(std::atomic<int>::is_always_lock_free);

// A handler may look at nothing that is allocated, so this is a table.
struct slot {
  std::atomic<bool> used{false};
  char path[PATH_MAX] = {};
};

slot unfinished[8];

std::int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

void on_signal(int number) {
  // Each further write to a broken pipe brings another one.
  if (number == SIGPIPE || (!was_caught && at_once == 0)) {
    if (!was_caught.exchange(true))
      caught_at = milliseconds_now();
    return;
  }
  if (was_caught && milliseconds_now() - caught_at < one_signal)
    return;
  for (const auto& file : unfinished)
    if (file.used)
      unlink(file.path);
  signal(number, SIG_DFL);
  raise(number);
}

sigset_t watched_set() {
  sigset_t out;
  sigemptyset(&out);
  for (auto number : watched)
    sigaddset(&out, number);
  return out;
}

// Holds signals back for as long as it lives.
class no_signals {
public:
  no_signals() {
    auto all = watched_set();
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~no_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  no_signals(const no_signals&) = delete;
  no_signals& operator=(const no_signals&) = delete;

private:
  sigset_t before_;
};

} // namespace

signal_watch::signal_watch() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_mask = watched_set();
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < signals; ++i) {
    sigaction(watched[i], nullptr, &before_[i]);
    auto ignored = before_[i].sa_handler == SIG_IGN;
    if (!ignored || (watched[i] != SIGINT && watched[i] != SIGHUP))
      sigaction(watched[i], &action, nullptr);
  }
}

signal_watch::~signal_watch() {
  for (std::size_t i = 0; i < signals; ++i)
    sigaction(watched[i], &before_[i], nullptr);
}

const std::atomic<bool>& signal_watch::caught() noexcept {
  return was_caught;
}

ends_at_once::ends_at_once(bool active) noexcept : active_(active) {
  at_once += active_;
}

ends_at_once::~ends_at_once() {
  at_once -= active_;
}

std::string make_unfinished(const std::string& target) {
  auto name = target + ".XXXXXX";
  // Otherwise a signal could come when the file is there and not yet known.
  no_signals held;
  auto fd = mkstemp(name.data());
  if (fd < 0)
    return {};
  close(fd);
  auto free = std::find_if(std::begin(unfinished), std::end(unfinished),
                           [](const auto& x) { return !x.used; });
  if (free != std::end(unfinished) && name.size() < sizeof free->path) {
    std::memcpy(free->path, name.c_str(), name.size() + 1);
    free->used = true;
  }
  return name;
}

void forget_unfinished(const std::string& path) {
  for (auto& file : unfinished)
    if (file.used && path == file.path)
      file.used = false;
}

} // namespace caisson::sim
