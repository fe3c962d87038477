#include <sim/world/event_log.hpp>

namespace caisson::sim {

void event_log::finish_line() {
  for (auto c : buffer_)
    digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  digest_ = (digest_ ^ '\n') * 0x100000001b3u;
  ++lines_;
  if (sink_)
    sink_({buffer_.data(), buffer_.size()});
}

} // namespace caisson::sim
