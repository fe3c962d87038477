// Measurements of the machine, and progress texts, for benchmarks.
#pragma once

#include <fmt/format.h>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string_view>
#include <vector>

namespace caisson::bench {

using wall_clock = std::chrono::steady_clock;

inline double seconds_since(wall_clock::time_point t) {
  return std::chrono::duration<double>(wall_clock::now() - t).count();
}

/// Processor time of the calling thread, in seconds: not disturbed by what else
/// runs on the machine.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Processor time of the whole process, in seconds.
inline double process_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec)
           + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

/// Resident memory of the process, in MiB.
inline double resident_mib() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream{"/proc/self/statm"} >> all >> resident;
  return static_cast<double>(resident)
         * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// What the program has allocated and not freed, in MiB.
inline double heap_mib() {
  return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd)
         / (1 << 20);
}

inline double median(std::vector<double> xs) {
  std::nth_element(xs.begin(), xs.begin() + static_cast<long>(xs.size() / 2),
                   xs.end());
  return xs[xs.size() / 2];
}

/// A line for whoever waits for the table.
template <class... Ts>
void progress(fmt::format_string<Ts...> form, Ts&&... xs) {
  fmt::print(stderr, "{}\n", fmt::format(form, std::forward<Ts>(xs)...));
}

} // namespace caisson::bench
