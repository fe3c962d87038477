// A program that is controlled, seen from the operator's side.
#pragma once

#include <caisson/base/time.hpp>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace caisson::ctl {

/// Why something cannot be done, for the operator.
class ctl_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Its functions throw `ctl_error`: if the program is not there, does not
/// accept the token, or refuses what is asked.
class connection {
public:
  /// To the program that has written this control file.
  explicit connection(const std::string& file);
  ~connection();

  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Where it listens, such as `127.0.0.1:4711`.
  [[nodiscard]] std::string address() const;

  /// What it answers; docs/control.md describes requests and answers.
  /// `patience` is for the time that the program takes by intent.
  nlohmann::ordered_json get(const std::string& target,
                             duration patience = duration::zero());
  nlohmann::ordered_json post(const std::string& target,
                              const nlohmann::ordered_json& body,
                              duration patience = duration::zero());

  /// The request in progress ends with an error, and so does any later one.
  /// For any thread.
  void interrupt() noexcept;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// As part of a path.
[[nodiscard]] std::string encoded(std::string_view text);

} // namespace caisson::ctl
