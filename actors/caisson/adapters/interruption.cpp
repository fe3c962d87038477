#include <caisson/adapters/interruption.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace caisson {

interruption::interruption() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0)
    throw std::system_error{errno, std::generic_category(), "eventfd"};
}

interruption::~interruption() {
  ::close(fd_);
}

interruption::wake interruption::wait(int fd, short events, time_point until) {
  for (;;) {
    if (interrupted())
      return wake::interrupted;
    auto left = time_until(until, std::chrono::steady_clock::now());
    if (left <= duration::zero())
      return wake::timeout;
    // A day at a time, so that it fits.
    left = std::min<duration>(left, std::chrono::hours(24));
    auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
    timespec most{static_cast<time_t>(whole.count()),
                  static_cast<long>((left - whole).count())};
    pollfd both[] = {{fd, events, 0}, {fd_, POLLIN, 0}};
    if (::ppoll(both, 2, &most, nullptr) <= 0)
      continue;
    if (both[1].revents != 0) {
      // Perhaps that of an earlier job.
      std::uint64_t count = 0;
      [[maybe_unused]] auto n = ::read(fd_, &count, sizeof count);
      if (interrupted())
        return wake::interrupted;
    }
    if (both[0].revents != 0)
      return wake::ready;
  }
}

void interruption::interrupt(std::uint64_t job) noexcept {
  auto last = last_.load();
  do {
    if (last >= job)
      return;
  } while (!last_.compare_exchange_weak(last, job));
  const std::uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(fd_, &one, sizeof one);
}

} // namespace caisson
