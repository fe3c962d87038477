// A file that is there as a whole, or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

namespace caisson::sim {

/// Collects what is written in a file beside the target, which takes the
/// target's place at the end. Without `commit` the target stays as it was.
/// What is no regular file, such as a pipe, is written directly.
class output_file {
public:
  /// `target` may be `-`, for `standard_output`. Throws `config_error`
  /// with `FILE: cannot be written: ...`.
  output_file(std::filesystem::path target, std::ostream& standard_output);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  [[nodiscard]] std::ostream& stream() noexcept { return *stream_; }

  /// Ends the file. Throws `config_error` if not all could be written.
  void commit();

private:
  [[noreturn]] void fail(int error) const;
  void create_beside();

  std::filesystem::path target_;
  // Empty if the target is written directly.
  std::filesystem::path temporary_;
  std::ofstream file_;
  std::ostream* stream_ = &file_;
};

} // namespace caisson::sim
