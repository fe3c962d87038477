// Numbers the families of metrics in the order in which they are first needed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace caisson::detail {

class family_index {
public:
  /// The number of the family with that name; that of a new one is how many
  /// there were before.
  [[nodiscard]] std::size_t of(std::string_view name) {
    auto i = index_.find(name);
    if (i == index_.end())
      i = index_.emplace(name, index_.size()).first;
    return i->second;
  }

private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view x) const {
      return std::hash<std::string_view>{}(x);
    }
  };

  std::unordered_map<std::string, std::size_t, text_hash, std::equal_to<>>
    index_;
};

} // namespace caisson::detail
