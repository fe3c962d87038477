#include <simulator/world/event_log.hpp>

namespace caisson::sim {

void event_log::finish_line() {
  digest_ = detail::fnv1a({buffer_.data(), buffer_.size()}, digest_);
  digest_ = detail::fnv1a('\n', digest_);
  ++lines_;
  if (sink_)
    sink_({buffer_.data(), buffer_.size()});
}

} // namespace caisson::sim
