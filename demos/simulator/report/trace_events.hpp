// Events and tracks of the Trace Event Format, which viewers such as Perfetto
// read.
#pragma once

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// A group of tracks, and one track in it.
struct trace_track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

struct trace_event {
  /// What the format calls a phase.
  enum class kind : char {
    /// From `at` on, for as long as it `lasts`.
    span = 'X',
    instant = 'i',
    counter = 'C',
  };

  kind what = kind::span;
  trace_track track;
  duration at = duration::zero();
  duration lasts = duration::zero();
  std::string name;
  /// A JSON object.
  std::string args;
};

/// What a trace is made of. Spans on one track must be added outer ones first.
class trace_events {
public:
  /// A new group of tracks, shown below the earlier ones.
  std::uint32_t add_process(std::string_view name);
  /// A new track in the last group.
  trace_track add_track(std::string_view name);

  void add(trace_event e) { events_.push_back(std::move(e)); }

  /// Writes the list: names first, then events in the order of time.
  void write(std::ostream& out);

private:
  struct name_entry {
    trace_track track;
    bool of_process = false;
    std::string name;
  };

  std::vector<name_entry> names_;
  std::vector<trace_event> events_;
  std::uint32_t processes_ = 0;
  std::uint32_t threads_ = 0;
};

/// A text in JSON, with its quotes. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string json_text(std::string_view text);

} // namespace caisson::sim
