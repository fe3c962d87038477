#include <simulator/remote/recording_cache.hpp>

#include <caisson/base/hash.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::sim {

std::list<recording_cache::entry>::iterator
recording_cache::entry_of(std::uint64_t hash, std::uint64_t size) {
  return std::ranges::find_if(
    entries_, [&](const entry& x) { return x.hash == hash && x.size == size; });
}

recording_cache::content recording_cache::find(std::uint64_t hash,
                                               std::uint64_t size) {
  auto i = entry_of(hash, size);
  if (i == entries_.end() || !i->complete)
    return nullptr;
  entries_.splice(entries_.end(), entries_, i);
  return i->text;
}

std::uint64_t recording_cache::have(std::uint64_t hash,
                                    std::uint64_t size) const {
  for (const auto& x : entries_)
    if (x.hash == hash && x.size == size)
      return x.text->size();
  return 0;
}

recording_progress recording_cache::add(const recording_part& x) {
  if (x.size > room_ || x.size == 0)
    return {
      0, false,
      fmt::format("a recording of {} bytes is not accepted, allowed: 1 to {}",
                  x.size, room_)};
  if (x.text.size() > longest_part)
    return {0, false,
            fmt::format("a part of {} bytes is not accepted, allowed: {}",
                        x.text.size(), longest_part)};
  auto i = entry_of(x.hash, x.size);
  if (i == entries_.end()) {
    make_room(x.size);
    used_ += x.size;
    i = entries_.insert(
      entries_.end(), {x.hash, x.size, std::make_shared<std::string>(), false});
  }
  auto& text = *i->text;
  // Another sweep may have sent it meanwhile.
  if (i->complete || x.offset != text.size()
      || x.text.size() > x.size - text.size())
    return {text.size(), i->complete, {}};
  text += x.text;
  if (text.size() < x.size)
    return {text.size(), false, {}};
  if (detail::fnv1a(text) == x.hash) {
    i->complete = true;
    return {text.size(), true, {}};
  }
  used_ -= i->size;
  entries_.erase(i);
  return {0, false,
          "a recording that was received is not the one that was announced"};
}

void recording_cache::make_room(std::uint64_t size) {
  while (used_ + size > room_ && !entries_.empty()) {
    used_ -= entries_.front().size;
    entries_.erase(entries_.begin());
  }
}

} // namespace caisson::sim
