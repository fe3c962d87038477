// Load recordings: CSV files of instants, or of counts per period.
#pragma once

#include <caisson/settings.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace caisson::sim {

enum class recording_format {
  /// One row for each request: when it came.
  timestamps,
  /// One row for each period: how many requests came.
  counts,
};

/// Which column of a row is read: by default the first one of timestamps and
/// the last one of counts, or its index, counted from 0, or its name in the
/// file's first line.
using recording_column = std::variant<std::monostate, std::uint32_t,
                                      std::string>;

struct recording_config {
  /// Path of the file.
  std::string file;
  recording_format format = recording_format::timestamps;
  recording_column column;
  /// How long a row of counts lasts. 0: as long as between the times in the
  /// first column of the first two rows; then the times of all rows must be
  /// apart like that.
  duration period = duration::zero();
  /// How many times as fast as it was recorded the recording is replayed.
  double speed = 1;
  /// The part of the recording that is replayed: what began in [from, to) after
  /// its first row, in the recording's own time.
  duration from = duration::zero();
  duration to = unlimited;
};

/// `file`, `format`, `column`, `period`, `speed`, `from` and `to`.
void describe(field_visitor& v, recording_config& c);

/// Reports an end that does not come after the begin.
void check(const recording_config& c, const setting_path& path, problems& out);

/// What a recording says, with the speed applied.
struct recording {
  /// Of timestamps: the times since the first one, ascending.
  std::vector<duration> arrivals;
  /// Of counts: from when on there are how many requests per second. The last
  /// one is the end of the recording, with 0.
  std::vector<std::pair<duration, double>> rates;
  /// For each of `rates`: how many requests come before, the sum of the counts
  /// itself, which the rates give only up to rounding.
  std::vector<double> before;
};

/// Reads a recording. A timestamp is a number of seconds, or
/// `YYYY-MM-DD HH:MM:SS`, with `T` instead of the blank, with a fraction of up
/// to 9 digits, and with `Z` at the end, as one likes. A first line whose
/// column is neither that nor a number is a header; empty lines are skipped.
///
/// Rows that are not understood and timestamps that go backwards are problems
/// with the place `file:line`; at most 10 of them are reported one by one.
/// Other problems have no place, and as their key the field that they are
/// about.
[[nodiscard]] recording read_recording(const recording_config& c,
                                       problems& out);

/// As `read_recording`, from the content of the file.
[[nodiscard]] recording read_recording_text(const recording_config& c,
                                            std::string_view text,
                                            problems& out);

/// Where the recordings of a scenario are.
class recording_source {
public:
  /// The content of a recording; null if there is none by that path.
  using finder = std::function<std::shared_ptr<const std::string>(
    const std::string&)>;

  /// Files, with paths relative to `base`.
  recording_source(std::filesystem::path base) : base_(std::move(base)) {}

  /// What `find` gives for a path as it is in the scenario. No file is read.
  explicit recording_source(finder find) : find_(std::move(find)) {}

  /// The recording; problems as of `read_recording`.
  [[nodiscard]] recording read(recording_config c, problems& out) const;

private:
  std::filesystem::path base_;
  finder find_;
};

/// At most so many arrivals can come of a recording.
inline constexpr std::size_t most_arrivals = 10'000'000;

/// So many copies of each arrival as `scale` says: as many as its whole part,
/// and one more with a probability of the rest. The copies follow each other
/// by 1 us. The same arrivals and the same scale give the same result.
/// @pre the result is not much longer than `most_arrivals`
[[nodiscard]] std::vector<duration>
copied(const std::vector<duration>& arrivals, double scale);

} // namespace caisson::sim

template <>
struct caisson::enum_names<caisson::sim::recording_format> {
  static constexpr std::string_view value[] = {"timestamps", "counts"};
};
