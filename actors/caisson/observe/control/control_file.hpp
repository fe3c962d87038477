// The file by which an operator's command finds a program and may talk to it.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <string>

namespace caisson::detail {

/// What a control file says.
struct control_address {
  std::uint16_t port = 0;
  std::string token = {};
  std::int64_t process = 0;
  /// How long its gates may take to answer.
  duration patience = duration::zero();
};

/// 128 random bits of the machine's entropy, in hexadecimal digits.
[[nodiscard]] std::string new_token();

/// Whether two tokens are equal, in a time that does not reveal where they
/// differ.
[[nodiscard]] bool same_token(const std::string& a,
                              const std::string& b) noexcept;

/// Throws `std::runtime_error` if the file cannot be read, does not belong to
/// this user, can be read by others, or is no control file.
[[nodiscard]] control_address read_control_file(const std::string& path);

/// Makes the file, readable by its owner only, and holds a lock on it as long
/// as it lives; removes it at its end, unless another one has taken its place.
class control_file {
public:
  /// Takes the place of a file that a process left behind. Throws
  /// `std::runtime_error` if the file cannot be written, is something else than
  /// a control file, or belongs to a server that runs.
  control_file(std::string path, const control_address& x);
  ~control_file();

  control_file(const control_file&) = delete;
  control_file& operator=(const control_file&) = delete;

private:
  std::string path_;
  int fd_ = -1;
};

} // namespace caisson::detail
