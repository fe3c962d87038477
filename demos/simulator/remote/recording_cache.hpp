// Load recordings that a worker has received.
#pragma once

#include <simulator/remote/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace caisson::sim {

/// Keeps contents of recordings by their hashes. Those that were used longest
/// ago go first when there is no room.
class recording_cache {
public:
  using content = std::shared_ptr<const std::string>;

  /// How long a part may be.
  static constexpr std::size_t longest_part = 4'000'000;

  /// `room`: how many bytes there may be together.
  explicit recording_cache(std::size_t room) : room_(room) {}

  /// The whole content; null if it is not there.
  [[nodiscard]] content find(std::uint64_t hash, std::uint64_t size);

  /// How much of it is there.
  [[nodiscard]] std::uint64_t have(std::uint64_t hash,
                                   std::uint64_t size) const;

  recording_progress add(const recording_part& x);

private:
  struct entry {
    std::uint64_t hash;
    std::uint64_t size;
    std::shared_ptr<std::string> text;
    bool complete;
  };

  std::list<entry>::iterator entry_of(std::uint64_t hash, std::uint64_t size);
  void make_room(std::uint64_t size);

  std::size_t room_;
  /// What was announced of all of them.
  std::uint64_t used_ = 0;
  /// What was used last comes last.
  std::list<entry> entries_;
};

} // namespace caisson::sim
