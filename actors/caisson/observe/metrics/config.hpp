// The settings of the metrics for Prometheus, which those for others share.
#pragma once

#include <caisson/observe/metrics_config.hpp>
