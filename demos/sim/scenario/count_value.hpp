// Counts as configuration.
#pragma once

#include <caisson/settings.hpp>

#include <cstdint>
#include <string>

namespace caisson::sim {

/// A field that is a count from `lo` to `hi`, or "unlimited".
class count_value final : public field_value {
public:
  /// Stands for "unlimited".
  static constexpr std::uint32_t unlimited = 0xffffffff;

  count_value(std::uint32_t& x, range<std::uint32_t> r) : x_(x), range_(r) {}

  [[nodiscard]] std::string type() const override;
  [[nodiscard]] std::string allowed() const override;
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

private:
  std::uint32_t& x_;
  range<std::uint32_t> range_;
};

} // namespace caisson::sim
