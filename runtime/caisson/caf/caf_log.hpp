// Writing to the log of CAF.
#pragma once

#include <caisson/caf/caf.hpp>

#include <string>
#include <thread>

namespace caisson::portable {

/// How important a line of CAF's log is.
enum class log_level : std::uint8_t { error, warning, info, debug };

/// Writes a line of the component `caisson` to the log of the system, if its
/// configuration lets it through. CAF's own macros are compiled away by
/// default, but its log works. Safe to call from any thread. Blocks while more
/// lines wait to be written than CAF keeps, on 0.17 about 128.
inline void write_to_caf_log(caf::actor_system& sys, log_level level,
                             std::string text) {
  static constexpr unsigned numbers[] = {
    CAF_LOG_LEVEL_ERROR, CAF_LOG_LEVEL_WARNING, CAF_LOG_LEVEL_INFO,
    CAF_LOG_LEVEL_DEBUG};
  auto number = numbers[static_cast<std::size_t>(level)];
#if CAISSON_CAF_LEGACY
  auto& log = sys.logger();
  if (log.verbosity() == CAF_LOG_LEVEL_QUIET
      || !log.accepts(number, caf::atom("caisson")))
    return;
  log.log(caf::logger::event{number, __LINE__, caf::atom("caisson"),
                             "caisson::event_log", "event_log", "caisson",
                             std::move(text), std::this_thread::get_id(), 0,
                             caf::make_timestamp()});
#else
  // The log belongs to the thread, and this may be no thread of CAF's.
  auto* before = caf::logger::current_logger();
  caf::logger::current_logger(&sys);
  caf::logger::log(number, "caisson", "{}", text);
  caf::logger::current_logger(before);
#endif
}

} // namespace caisson::portable
