#include <caisson/messages.hpp>

// On CAF 1.x the type-id block needs the errors to be whole.
#include <caisson/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace caisson {

namespace {

std::int64_t metric_in(const std::map<std::string, std::int64_t>& all,
                       const std::string& name, std::string_view whose) {
  if (auto i = all.find(name); i != all.end())
    return i->second;
  throw std::out_of_range{fmt::format("{} has no metric {}", whose, name)};
}

} // namespace

void init_types() {
  // A static so that several configs in one process register only once.
  static const bool done = [] {
    portable::init_types<caf::id_block::caisson_messages>();
    return true;
  }();
  static_cast<void>(done);
}

std::string_view name_of(gate_state x) noexcept {
  switch (x) {
    case gate_state::accepting:
      return "accepting";
    case gate_state::draining:
      return "draining";
  }
  return "unknown";
}

std::string_view name_of(worker_state x) noexcept {
  switch (x) {
    case worker_state::none:
      return "none";
    case worker_state::up:
      return "up";
    case worker_state::restarting:
      return "restarting";
    case worker_state::down:
      return "down";
    case worker_state::given_up:
      return "given_up";
  }
  return "unknown";
}

std::string_view name_of(measured x) noexcept {
  switch (x) {
    case measured::calls:
      return "calls";
    case measured::attempts:
      return "attempts";
    case measured::waits:
      return "waits";
  }
  return "unknown";
}

std::string_view detail::name_of(member_state x) noexcept {
  switch (x) {
    case member_state::joined:
      return "joined";
    case member_state::down:
      return "down";
    case member_state::due:
      return "due";
    case member_state::up:
      return "up";
    case member_state::gave_up:
      return "gave_up";
    case member_state::left:
      return "left";
  }
  return "unknown";
}

std::string_view detail::name_of(member_order x) noexcept {
  switch (x) {
    case member_order::stop:
      return "stop";
    case member_order::start:
      return "start";
    case member_order::give_up:
      return "give_up";
  }
  return "unknown";
}

std::string_view name_of(release_outcome x) noexcept {
  switch (x) {
    case release_outcome::success:
      return "success";
    case release_outcome::failure:
      return "failure";
    case release_outcome::neutral:
      return "neutral";
  }
  return "unknown";
}

const layer_status& status::layer(std::string_view layer_name) const {
  auto i = std::find_if(layers.begin(), layers.end(),
                        [&](const auto& x) { return x.name == layer_name; });
  if (i == layers.end())
    throw std::out_of_range{
      fmt::format("{} has no layer {}", name, layer_name)};
  return *i;
}

std::int64_t status::metric(const std::string& metric_name) const {
  return metric_in(metrics, metric_name, name);
}

std::int64_t status::metric(std::string_view layer_name,
                            const std::string& metric_name) const {
  return metric_in(layer(layer_name).metrics, metric_name, layer_name);
}

duration_summary status::duration_of(measured what, bool ok) const {
  for (const auto& x : durations)
    if (x.what == what && x.ok == ok)
      return x;
  duration_summary none;
  none.what = what;
  none.ok = ok;
  return none;
}

} // namespace caisson
