#include <caisson/observe/metrics_config.hpp>

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
  v.on({"zero_counters", "whether counters that are zero have a series"},
       c.zero_counters);
  v.on({"empty_histograms", "whether histograms of what was never measured "
                            "have series"},
       c.empty_histograms);
}

} // namespace caisson
