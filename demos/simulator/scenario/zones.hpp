// Zones of replicas and loads.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

// -- as configuration ---------------------------------------------------------

void describe(field_visitor& v, zone_config& c);

/// Reports names that are there twice or not names at all, and too many.
void check(const zone_config& c, const setting_path& path, problems& out);

/// Reports names of zones that there are not, zones that have the name of
/// something else, and what has no effect without zones.
void check_zones(const arm_config& arm, problems& out);

/// What is probably not meant: services that have fewer replicas than zones.
[[nodiscard]] std::vector<std::string> zone_warnings(const arm_config& arm);

// -- as a map -----------------------------------------------------------------

/// Whether there is a zone of this name.
[[nodiscard]] bool is_zone(const arm_config& arm, std::string_view name);

/// The zones of an arm by number, in the order of the file. Names that are no
/// zones are left out.
class zone_map {
public:
  static constexpr std::uint32_t nowhere = 0xffffffff;

  /// `arm` must outlive this.
  explicit zone_map(const arm_config& arm);

  [[nodiscard]] std::size_t size() const noexcept { return names_->size(); }

  /// Of a replica, counted from 0 on, of the service `service` of the arm;
  /// `nowhere` if there are no zones.
  [[nodiscard]] std::uint32_t of_replica(std::size_t service,
                                         std::uint32_t replica) const {
    const auto& list = services_[service];
    return list.empty() ? nowhere : list[replica % list.size()];
  }

  /// Of a load of the arm; `nowhere` if it is outside of all zones.
  [[nodiscard]] std::uint32_t of_load(std::size_t load) const {
    return loads_[load];
  }

  /// Empty for `nowhere`.
  [[nodiscard]] std::string_view name(std::uint32_t zone) const {
    return zone == nowhere ? std::string_view{} : (*names_)[zone];
  }

  /// The names of the zones in which the service has replicas, each once.
  [[nodiscard]] std::vector<std::string_view>
  names_of(const arm_config& arm, std::size_t service) const;

private:
  const std::vector<std::string>* names_;
  /// By service: the zones of its replicas, in turn.
  std::vector<std::vector<std::uint32_t>> services_;
  std::vector<std::uint32_t> loads_;
};

/// Whether a fault with this target hits a replica, counted from 0 on, of the
/// service `service` of the arm.
[[nodiscard]] bool target_hits(const arm_config& arm, const zone_map& zones,
                               std::string_view target, std::size_t service,
                               std::uint32_t replica);

} // namespace caisson::sim
