#include <simulator/import/name_pool.hpp>

namespace caisson::sim {

std::uint32_t name_pool::number(std::string_view text) {
  if (auto found = numbers_.find(text); found != numbers_.end())
    return found->second;
  auto out = static_cast<std::uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), out);
  return out;
}

} // namespace caisson::sim
