// A fixed set of counters, one per decision branch of a policy.
#pragma once

#include <caisson/policy/policy.hpp>
#include <caisson/settings/settings.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace caisson {

/// Counters indexed by an enumeration `E`. Its last enumerator is `count_`, and
/// `enum_names<E>` names the others.
template <class E>
class counters {
public:
  /// How many counters there are: `count_` is not one of them.
  static constexpr auto size = static_cast<std::size_t>(E::count_);
  static_assert(std::size(enum_names<E>::value) == size,
                "every counter has one name");

  /// Adds `n`, which is not negative, to one of them.
  void add(E which, std::int64_t n = 1) noexcept {
    values_[static_cast<std::size_t>(which)] += n;
  }

  [[nodiscard]] std::int64_t operator[](E which) const noexcept {
    return values_[static_cast<std::size_t>(which)];
  }

  /// Sets all of them to 0.
  void clear() noexcept { values_.fill(0); }

  /// Appends all of them, with their names.
  void list(std::vector<metric>& out) const {
    for (std::size_t i = 0; i < size; ++i)
      out.push_back({enum_names<E>::value[i], values_[i], false});
  }

private:
  std::array<std::int64_t, size> values_{};
};

} // namespace caisson
