// Identity of this build, so that only equal builds share a sweep.
#pragma once

#include <string>

namespace caisson::sim {

/// Two processes with the same identity get the same results, to the last bit.
struct build_identity {
  /// `0.1.0`
  std::string version = {};
  /// A hash of the program's file.
  std::string program = {};
  /// A hash of what the mathematical functions give here, which is a matter of
  /// the C library and of the processor.
  std::string arithmetic = {};

  friend bool operator==(const build_identity&, const build_identity&)
    = default;
};

/// That of this process.
[[nodiscard]] build_identity own_identity(const std::string& version);

/// Why a worker that is `other` cannot work for `own`; empty if it can.
[[nodiscard]] std::string difference_of(const build_identity& own,
                                        const build_identity& other);

} // namespace caisson::sim
