#include <simulator/scenario/replicas.hpp>

#include <fmt/format.h>

#include <charconv>

namespace caisson::sim {

replica_target replica_target_in(std::string_view text) {
  auto mark = text.find('#');
  if (mark == std::string_view::npos)
    return {text, std::nullopt};
  auto digits = text.substr(mark + 1);
  std::uint32_t number = 0;
  auto end = digits.data() + digits.size();
  auto [stop, error] = std::from_chars(digits.data(), end, number);
  auto whole = error == std::errc{} && stop == end && digits.front() != '0';
  return {text.substr(0, mark), whole ? number : 0};
}

std::string replica_name(const service_config& service, std::uint32_t index) {
  return service.replicas == 1 ? service.name
                               : fmt::format("{}#{}", service.name, index + 1);
}

std::uint32_t all_servers(const service_config& service) {
  return service.servers == no_limit ? no_limit
                                     : service.servers * service.replicas;
}

std::uint32_t all_cores(const service_config& service) {
  return service.cores == no_limit ? no_limit
                                   : service.cores * service.replicas;
}

} // namespace caisson::sim
