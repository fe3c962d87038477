// A fixed set of counters, one per decision branch of a policy.
#pragma once

#include <caisson/policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace caisson {

/// Counters indexed by an enumeration `E` whose last enumerator is `count_`.
template <class E>
class counters {
public:
  static constexpr auto size = static_cast<std::size_t>(E::count_);
  using names_type = std::array<std::string_view, size>;

  void add(E which, std::int64_t n = 1) noexcept {
    values_[static_cast<std::size_t>(which)] += n;
  }

  [[nodiscard]] std::int64_t operator[](E which) const noexcept {
    return values_[static_cast<std::size_t>(which)];
  }

  void clear() noexcept { values_.fill(0); }

  /// Appends all counters under the given names (static storage).
  void list(const names_type& names, std::vector<metric>& out) const {
    for (std::size_t i = 0; i < size; ++i)
      out.push_back({names[i], values_[i], false});
  }

private:
  std::array<std::int64_t, size> values_{};
};

} // namespace caisson
