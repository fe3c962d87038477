#include <caisson/observe/metrics/config.hpp>

namespace caisson {

void describe(field_visitor& v, metrics_config& c) {
  using namespace std::chrono_literals;
  v.on({"publish_every", "after how long at most, and how often at most, a "
                         "gate publishes what has changed"},
       c.publish_every, {10ms, 1h});
  v.integer({"max_gates", "for how many gates there are metrics, in the order "
                          "of their names"},
            c.max_gates, {1, 1'000'000});
  v.integer({"keys_per_layer", "for how many keys of a layer with a policy for "
                               "each key there are metrics, the busiest first"},
            c.keys_per_layer, {0, 100});
  v.on({"empty_series", "whether there are series of counters that are zero "
                        "and of durations that were never measured"},
       c.empty_series);
}

} // namespace caisson
