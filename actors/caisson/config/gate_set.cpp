#include <caisson/config/gate_set.hpp>

#include <caisson/config/detail/config_reloader.hpp>
#include <caisson/config/gate_file.hpp>
#include <caisson/gate/gate.hpp>

#include <utility>

namespace caisson {

struct gate_set::state {
  caf::actor reloader;
  std::shared_ptr<detail::gate_directory>
    directory = std::make_shared<detail::gate_directory>();

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  ~state() {
    if (reloader)
      stop_gate(reloader);
  }
};

control_handle gate_set::find(std::string_view name) const {
  return state_ ? state_->directory->find(name) : control_handle{};
}

supervision_group gate_set::group(std::string_view name) const {
  return state_ ? state_->directory->find_group(name) : supervision_group{};
}

std::vector<std::string> gate_set::names() const {
  return state_ ? state_->directory->names() : std::vector<std::string>{};
}

const caf::actor& gate_set::controller() const {
  static const caf::actor none;
  return state_ ? state_->reloader : none;
}

void gate_set::stop() {
  if (state_)
    stop_gate(state_->reloader);
}

gate_set spawn_gates(caf::actor_system& sys, std::filesystem::path file,
                     worker_names known) {
  problems found;
  auto read = read_gate_file(file, known, found, sys);
  if (!found.empty())
    throw config_error{std::move(found)};
  auto groups = detail::spawn_missing_groups(sys, read, {});
  auto names = detail::by_rank(read);
  auto workers = detail::make_workers(sys, read, names, known, groups, found);
  detail::managed_gates gates;
  if (found.empty())
    gates = detail::spawn_managed(sys, read, names, std::move(workers), found);
  if (!found.empty())
    throw config_error{std::move(found)};
  gate_set out;
  out.state_ = std::make_shared<gate_set::state>();
  detail::gate_directory::handles all;
  for (const auto& [name, x] : gates)
    all.emplace(name, x.handle);
  out.state_->directory->assign(std::move(all), groups);
  // Reading a file may take long: not on a thread that runs other actors.
  detail::config_reloader::parts parts{std::move(file), std::move(known),
                                       out.state_->directory, std::move(gates),
                                       std::move(groups)};
  out.state_->reloader = caf::actor_cast<caf::actor>(
    portable::is_virtual(sys)
      ? sys.spawn<detail::config_reloader>(std::move(parts))
      : sys.spawn<detail::config_reloader, caf::detached>(std::move(parts)));
  return out;
}

} // namespace caisson
