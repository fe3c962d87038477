// Arms: what differs from the world that the rest of the file describes.
#pragma once

#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>
#include <caisson/settings/setting_path.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

/// The world of an arm: `base` with what `arm` sets. Tables are merged down to
/// the single service, operation and load; edges and faults are added to those
/// of `base`; everything else that `arm` sets replaces what `base` says.
[[nodiscard]] settings overlaid(const settings& base, const settings& arm);

/// Whether an arm that sets part `i` of `path`, as it is in a world, replaces
/// the whole of it, even if it is a table.
[[nodiscard]] bool replaces_all(const setting_path& path, std::size_t i);

/// Takes out of the table of a load or service, as it is in a world or an arm,
/// what cannot stand beside those keys that `more` sets. `sort`: `load` or
/// `service`, others have nothing of the kind.
void drop_alternatives(std::string_view sort, settings& table,
                       const settings& more);

/// The key in the file of what has the key `key` in the world of an arm, and
/// the place `place`: with the prefix `arm.NAME` if `arm` sets it.
[[nodiscard]] setting_path
key_in_file(const setting_path& key, std::string_view place,
            const std::string& name, const setting& arm);

/// What was found wrong with the worlds of all arms, each thing once.
class arm_problems {
public:
  explicit arm_problems(const settings& base) : base_(base) {}

  /// Adds what is wrong with the world of the arm `name`, which `arm` sets.
  /// Keys of values in `arm` get the prefix `arm.NAME`.
  void add(problems found, const std::string& name, const setting& arm);

  /// All problems. Those of values outside of the arms that only some of the
  /// arms have say which.
  [[nodiscard]] problems take();

private:
  struct entry {
    problem what;
    std::vector<std::string> arms;
    bool own;
  };

  using place_and_key = std::pair<std::string, setting_path>;

  // The same problem of an earlier arm.
  entry* find(const problem& p);

  const settings& base_;
  std::vector<entry> entries_;
  std::multimap<place_and_key, std::size_t> index_;
  std::size_t arms_ = 0;
};

} // namespace caisson::sim
