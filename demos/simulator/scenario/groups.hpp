// Named groups of loads and services.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// A field with groups: a table of lists of names.
class groups_value final : public field_value {
public:
  explicit groups_value(std::vector<group_config>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override {
    return "a table of lists of names";
  }
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path&, problems&) const override {}

private:
  std::vector<group_config>& x_;
};

/// The groups of an arm by name; it must outlive this.
class group_map {
public:
  explicit group_map(const arm_config& arm);

  /// Null if there is none of this name.
  [[nodiscard]] const group_config* find(std::string_view name) const;

private:
  std::map<std::string_view, const group_config*> all_;
};

/// Whether a list of names and groups has this load, service or replica, by its
/// own name or by that of its zone.
class group_members {
public:
  /// `names`: as `fault_config::from`. They and the arm of `groups` must
  /// outlive this.
  group_members(const std::vector<std::string>& names, const group_map& groups);

  /// Whether it has all there are.
  [[nodiscard]] bool all() const noexcept { return all_; }

  /// Of loads, services, replicas such as `db#2` and zones.
  [[nodiscard]] const std::vector<std::string_view>& names() const noexcept {
    return names_;
  }

  /// `number`: of the replica, from 1 on; 0 for a load. `zone`: where it is;
  /// empty if that is no zone.
  [[nodiscard]] bool contains(std::string_view name, std::uint32_t number,
                              std::string_view zone) const;

  /// Whether it has this load or service, or any replica of it; `zones`: where
  /// these are.
  [[nodiscard]] bool touches(std::string_view name,
                             const std::vector<std::string_view>& zones) const;

private:
  void add(std::string_view name);

  bool all_ = false;
  /// Sorted.
  std::vector<std::string_view> names_;
};

} // namespace caisson::sim
