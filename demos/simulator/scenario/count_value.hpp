// Counts as configuration.
#pragma once

#include <caisson/settings.hpp>

#include <cstdint>
#include <string>

namespace caisson::sim {

/// A field that is a count from `lo` to `hi`, or "unlimited".
class count_value : public field_value {
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

/// What "unlimited" is in a scenario.
inline constexpr std::uint32_t no_limit = count_value::unlimited;

/// A count from `Lo` to `Hi`, or "unlimited", as a type of its own, for fields
/// that may have no value.
template <std::uint32_t Lo, std::uint32_t Hi>
struct count_in {
  std::uint32_t n = count_value::unlimited;
};

} // namespace caisson::sim

template <std::uint32_t Lo, std::uint32_t Hi>
struct caisson::field_value_for<caisson::sim::count_in<Lo, Hi>> final
  : caisson::sim::count_value {
  explicit field_value_for(sim::count_in<Lo, Hi>& x)
    : count_value(x.n, {Lo, Hi}) {}
};
