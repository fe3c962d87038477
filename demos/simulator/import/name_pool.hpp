// Texts that occur often, kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace caisson::sim {

/// Numbers for texts, in the order in which they first came. 0 is the empty
/// text.
class name_pool {
public:
  name_pool() { number(""); }
  // The map points into the texts.
  name_pool(const name_pool&) = delete;
  name_pool& operator=(const name_pool&) = delete;
  name_pool(name_pool&&) = default;
  name_pool& operator=(name_pool&&) = default;

  std::uint32_t number(std::string_view text);
  [[nodiscard]] const std::string& text(std::uint32_t number) const {
    return texts_[number];
  }

private:
  // Does not move its elements when it grows.
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

} // namespace caisson::sim
