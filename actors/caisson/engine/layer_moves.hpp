// New places of layers after others have come or gone.
#pragma once

#include <caisson/engine/call_record.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Translates the numbers of layers from before a change of the table to those
/// after it. Layers that stay keep their order.
class layer_moves {
public:
  static constexpr int gone = -1;

  /// `to` has the new number, or `gone`, of each layer; `size` is how many
  /// there are afterwards, new ones included.
  layer_moves(std::vector<int> to, std::size_t size)
    : to_(std::move(to)), size_(size) {}

  [[nodiscard]] std::size_t before() const noexcept { return to_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] int of(std::size_t k) const noexcept { return to_[k]; }

  /// Numbers below zero name no layer and stay; one that is gone becomes -1.
  [[nodiscard]] std::int8_t of(std::int8_t k) const noexcept {
    return k < 0 ? k
                 : static_cast<std::int8_t>(to_[static_cast<std::size_t>(k)]);
  }

  /// A place with `depth` layers above it lies right below the last of them
  /// that is left.
  [[nodiscard]] std::int8_t depth(std::int8_t depth) const noexcept {
    for (auto k = static_cast<int>(depth) - 1; k >= 0; --k)
      if (auto to = to_[static_cast<std::size_t>(k)]; to != gone)
        return static_cast<std::int8_t>(to + 1);
    return 0;
  }

  /// Of a set with a bit for each layer, and one for `any_attempt`.
  [[nodiscard]] std::uint64_t bits(std::uint64_t x) const noexcept {
    constexpr auto any = std::uint64_t{1} << any_attempt;
    auto out = x & any;
    for (std::size_t k = 0; k < to_.size(); ++k)
      if ((x >> k & 1) != 0 && to_[k] != gone)
        out |= std::uint64_t{1} << to_[k];
    return out;
  }

private:
  std::vector<int> to_;
  std::size_t size_;
};

} // namespace caisson::detail
