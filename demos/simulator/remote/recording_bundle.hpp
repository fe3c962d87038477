// Load recordings of a sweep, to be sent to workers.
#pragma once

#include <simulator/remote/messages.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace caisson::sim {

/// Reads each recording once. May be used from several threads.
class recording_bundle {
public:
  using content = std::shared_ptr<const std::string>;

  /// Paths are relative to `base`.
  explicit recording_bundle(std::filesystem::path base)
    : base_(std::move(base)) {}

  /// Throws `config_error` if it cannot be read, or only once.
  [[nodiscard]] recording_ref add(const std::string& path);

  /// The content of a recording that was added; null of any other.
  [[nodiscard]] content find(std::uint64_t hash) const;

private:
  std::filesystem::path base_;
  mutable std::mutex mutex_;
  std::map<std::string, recording_ref> by_path_;
  std::map<std::uint64_t, content> by_hash_;
};

} // namespace caisson::sim
