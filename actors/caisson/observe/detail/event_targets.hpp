// Writes events to streams, files and logs.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/observe/event_text.hpp>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

namespace caisson::detail {

/// Takes events. Used by one thread; may throw.
class event_target {
public:
  virtual ~event_target() = default;

  virtual void write(const event& x, utc_time at) = 0;

  /// So many events are missing here.
  virtual void note_dropped(std::uint64_t /*count*/, utc_time /*at*/) {}
};

/// Targets that write JSON lines to a stream, or to CAF's log.
std::unique_ptr<event_target> make_stream_target(std::ostream& out);
/// Null if the file cannot be opened.
std::unique_ptr<event_target> make_file_target(const std::string& path);
std::unique_ptr<event_target> make_caf_target(caf::actor_system& sys);

} // namespace caisson::detail
