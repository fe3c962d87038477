// A file that is there as a whole, or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>

namespace caisson::sim {

/// Collects what is written in a file beside the target, which takes the
/// target's place at the end. Without `commit` the target stays as it was.
/// What is no regular file, such as a pipe, is written directly. If a second
/// signal ends the process, nothing is left beside the target.
class output_file {
public:
  /// `target` may be `-`, for `standard_output`. Throws `config_error`
  /// with `FILE: cannot be written: ...`.
  output_file(std::filesystem::path target, std::ostream& standard_output);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  [[nodiscard]] std::ostream& stream() noexcept { return *stream_; }

  /// Whether it is written directly, which may wait for whoever reads it.
  [[nodiscard]] bool is_direct() const noexcept {
    return stream_ == &file_ && temporary_.empty();
  }

  /// Ends the file. Throws `config_error` if not all could be written. Standard
  /// output is not looked at: it may get more, and its owner does.
  void commit();

private:
  [[noreturn]] void fail(int error) const;
  void create_beside();
  void remove_temporary();

  std::filesystem::path target_;
  // Empty if the target is written directly.
  std::filesystem::path temporary_;
  std::ofstream file_;
  std::ostream* stream_ = &file_;
};

/// Where the bytes end up that are written to `path`: behind symbolic links,
/// also if there is nothing yet.
[[nodiscard]] std::filesystem::path
place_of_output(const std::filesystem::path& path);

/// Writes what is left in a stream. Nothing if all of it could be written since
/// the stream was made; otherwise the reason, as in `errno`, or 0 if the stream
/// does not know it.
[[nodiscard]] std::optional<int> flush_error(std::ostream& out);

/// `cannot be written: No space left on device`
[[nodiscard]] std::string cannot_be_written(int error);

} // namespace caisson::sim
