// Results of runs, kept from one sweep to the next.
#pragma once

#include <simulator/play/run_result.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

/// A directory with a file `cells`, a line per run. A line is added as soon as
/// a run has ended, in one write. Each has a check sum: what is not whole,
/// because a process or a machine has died, counts as not there. Several
/// processes may add to one file.
///
/// May be used from several threads.
class result_store {
public:
  /// Makes the directory if there is none. Throws `config_error` if that, or
  /// reading and writing the file, is not possible.
  explicit result_store(const std::filesystem::path& directory);
  ~result_store();
  result_store(const result_store&) = delete;
  result_store& operator=(const result_store&) = delete;

  [[nodiscard]] std::optional<run_result> find(std::string_view key) const;

  /// Throws `config_error` if it cannot be written.
  void add(std::string_view key, const run_result& c);

  /// Lines that were not whole.
  [[nodiscard]] std::size_t damaged() const noexcept { return damaged_; }

private:
  void read();
  void read_line(std::string_view line);
  void write(std::string_view text);

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t damaged_ = 0;
  mutable std::mutex mutex_;
  /// Texts of results by key.
  std::map<std::string, std::string, std::less<>> texts_;
};

/// Names the run of an arm: whoever has the same key has the same result. The
/// key depends on the version, on all of the arm's world, on the recordings
/// that it replays, and on the seed; not on what does not change a run, such as
/// titles, expectations, comments, other arms, and what else is swept.
[[nodiscard]] std::string run_key(std::uint64_t world, std::string_view arm,
                                  std::uint64_t seed);

} // namespace caisson::sim
