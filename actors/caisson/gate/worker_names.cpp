#include <caisson/gate/worker_names.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <utility>

namespace caisson {

worker_names& worker_names::add_factory(std::string name, worker_factory make) {
  return add_maker(std::move(name),
                   [make = std::move(make)](const supervision_config& s) {
                     return worker::supervised(make, s);
                   });
}

worker_names& worker_names::add(std::string name, worker behind) {
  return add_maker(
    std::move(name),
    [behind = std::move(behind)](const supervision_config&) { return behind; });
}

worker_names& worker_names::add_maker(std::string name, maker make,
                                      const supervision_config& base) {
  require_valid(base);
  if (name.empty() || name == "none")
    throw config_error{{{problem_kind::range, "worker",
                         detail::quoted(name) + " cannot name a worker"}}};
  if (makers_.contains(name))
    throw config_error{{{problem_kind::relation, "worker",
                         detail::quoted(name) + " is a worker already"}}};
  makers_.emplace(std::move(name), entry{std::move(make), base});
  return *this;
}

worker_names& worker_names::add_kind(worker_kind kind) {
  auto name = kind.name();
  if (!kinds_.try_emplace(name, std::move(kind)).second)
    throw config_error{
      {{problem_kind::relation, "worker.kind",
        detail::quoted(name) + " is a kind of worker already"}}};
  return *this;
}

const worker_kind* worker_names::find_kind(std::string_view name) const {
  auto i = kinds_.find(name);
  return i != kinds_.end() ? &i->second : nullptr;
}

std::vector<std::string> worker_names::kinds() const {
  std::vector<std::string> out;
  for (const auto& [name, x] : kinds_)
    out.push_back(name);
  return out;
}

const worker_names::maker* worker_names::find(std::string_view name) const {
  auto i = makers_.find(name);
  return i != makers_.end() ? &i->second.make : nullptr;
}

supervision_config worker_names::supervision_of(std::string_view name) const {
  auto i = makers_.find(name);
  return i != makers_.end() ? i->second.base : supervision_config{};
}

std::vector<std::string> worker_names::names() const {
  std::vector<std::string> out;
  for (const auto& [name, x] : makers_)
    out.push_back(name);
  return out;
}

} // namespace caisson
