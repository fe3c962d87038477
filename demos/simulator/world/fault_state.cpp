#include <simulator/world/fault_state.hpp>

#include <algorithm>
#include <limits>

namespace caisson::sim {

void fault_state::begin(const fault_config& f) {
  switch (f.kind) {
    case fault_kind::slow:
    case fault_kind::errors:
    case fault_kind::capacity:
      active_.push_back(&f);
      return combine();
    case fault_kind::stall:
      ++stalls_;
      pauses_ += f.in_progress;
      return;
    case fault_kind::crash:
      ++crashes_;
      return;
    case fault_kind::flush: // It takes no time.
    case fault_kind::partition:
    case fault_kind::loss:
    case fault_kind::delay:
      return; // Not of a service.
  }
}

void fault_state::end(const fault_config& f) {
  switch (f.kind) {
    case fault_kind::slow:
    case fault_kind::errors:
    case fault_kind::capacity:
      std::erase(active_, &f);
      return combine();
    case fault_kind::stall:
      --stalls_;
      pauses_ -= f.in_progress;
      return;
    case fault_kind::crash:
      --crashes_;
      return;
    case fault_kind::flush: // It takes no time.
    case fault_kind::partition:
    case fault_kind::loss:
    case fault_kind::delay:
      return; // Not of a service.
  }
}

double fault_state::stretch() const noexcept {
  return pauses_ > 0 ? std::numeric_limits<double>::infinity() : stretch_;
}

void fault_state::set_servers(std::uint32_t n) {
  all_servers_ = n;
  combine();
}

void fault_state::combine() {
  factor_ = 1;
  stretch_ = 1;
  double good = 1;
  servers_ = all_servers_;
  for (const auto* f : active_) {
    if (f->kind == fault_kind::slow)
      (f->in_progress ? stretch_ : factor_) *= f->factor;
    else if (f->kind == fault_kind::errors)
      good *= 1 - f->rate;
    else
      servers_ = std::min(servers_, f->servers);
  }
  error_rate_ = 1 - good;
}

} // namespace caisson::sim
