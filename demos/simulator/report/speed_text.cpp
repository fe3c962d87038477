#include <simulator/report/speed_text.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/report/table.hpp>

#include <fmt/format.h>

#include <ostream>

namespace caisson::sim {

void write_speed(std::ostream& out, const report& r,
                 std::uint64_t peak_memory) {
  text_table table{{{"arm", text_table::align::left},
                    {"requests/s"},
                    {"messages/s"},
                    {"simulated s/s"},
                    {"wall time"}}};
  for (std::size_t i = 0; i < r.arms.size() && i < r.speeds.size(); ++i) {
    const auto& x = r.speeds[i];
    if (results_of(r, r.arms[i].name).empty())
      continue;
    auto rate = [&](double n) {
      return x.wall_seconds > 0
               ? grouped(static_cast<std::uint64_t>(n / x.wall_seconds))
               : "-";
    };
    table.row({r.arms[i].name, rate(static_cast<double>(x.requests)),
               rate(static_cast<double>(x.messages)), rate(x.simulated_seconds),
               fmt::format("{:.2f} s", x.wall_seconds)});
  }
  out << "\n-- speed\n";
  table.write(out);
  out << fmt::format("peak memory {:.1f} MiB\n",
                     static_cast<double>(peak_memory) / (1 << 20));
}

} // namespace caisson::sim
