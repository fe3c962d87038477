// Settings of a sweep: varied keys, and seeds.
#pragma once

#include <simulator/scenario/sweep_values.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/section.hpp>
#include <caisson/settings/setting_path.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// How many seeds, at most.
inline constexpr std::int64_t most_sweep_seeds = 100'000;

/// A setting with the values that it gets, at least one.
struct sweep_parameter {
  /// As it was written.
  std::string name;
  setting_path path;
  std::vector<sweep_value> values;
};

struct sweep_config {
  /// In the order of the file.
  std::vector<sweep_parameter> parameters;
  std::vector<std::string> metrics;
  std::optional<std::uint32_t> seeds;
};

/// Reads the table `[sweep]` of a scenario:
///
///     [sweep]
///     seeds = 10
///     metrics = ["goodput", "p99"]
///     [sweep.set]
///     "service.db.workers" = "5..20/5"
///     "service.db.order" = ["fifo", "lifo"]
///
/// `root` is the whole file, in which the settings are looked for.
[[nodiscard]] sweep_config read_sweep(const section& from, const settings& root,
                                      problems& out);

/// How settings and their values are read.
struct parameter_reading {
  range_steps steps = range_steps::written;
  /// The arm that is changed, if it is only one. A path that does not say so
  /// itself is one in this arm if the arm sets something there.
  std::string arm = {};
};

/// Reads `service.db.workers=5..20/5`, which is called `place` in problems.
/// Nothing if something is wrong.
[[nodiscard]] std::optional<sweep_parameter>
read_sweep_parameter(std::string_view text, std::string_view place,
                     const settings& root, problems& out,
                     const parameter_reading& how = {});

/// Reads a table of paths and values, such as `[sweep.set]`, in the order of
/// the file.
[[nodiscard]] std::vector<sweep_parameter>
read_sweep_parameters(const setting& table, const setting_path& at,
                      const settings& root, problems& out,
                      const parameter_reading& how = {});

/// `all`, in which those of the texts, as `read_sweep_parameter` reads them,
/// replace those with the same path or are added. Throws `config_error` with
/// what is wrong; `option` is where the texts come from.
[[nodiscard]] std::vector<sweep_parameter>
with_parameters(std::vector<sweep_parameter> all,
                const std::vector<std::string>& texts,
                const std::string& option, const settings& root,
                const parameter_reading& how = {});

/// The values of `x` that exclude what `other` sets.
[[nodiscard]] std::vector<std::string>
values_excluding(const sweep_parameter& x, const sweep_parameter& other);

} // namespace caisson::sim
