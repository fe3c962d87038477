#include <caisson/base/system_number.hpp>

#include <caisson/caf/caf.hpp>

#include <mutex>
#include <unordered_map>

namespace caisson::detail {

namespace {

struct numbered_system {
  // An actor that each system has from its start to its end. As long as there
  // is a weak reference, no other actor has its address.
  caf::weak_actor_ptr sign;
  std::uint64_t number = 0;
};

struct system_numbers {
  std::mutex mutex;
  std::unordered_map<const caf::actor_system*, numbered_system> known;
  std::uint64_t last = 0;
};

// Never destroyed: systems with static storage may end after it.
system_numbers& all_systems() {
  static auto& x = *new system_numbers;
  return x;
}

} // namespace

std::uint64_t number_of(caf::actor_system& sys) {
  caf::weak_actor_ptr sign{sys.config_serv().get()};
  auto& all = all_systems();
  std::lock_guard guard{all.mutex};
  auto i = all.known.find(&sys);
  if (i != all.known.end() && i->second.sign == sign)
    return i->second.number;
  std::erase_if(all.known, [](auto& x) { return !x.second.sign.lock(); });
  all.known[&sys] = {sign, ++all.last};
  return all.last;
}

} // namespace caisson::detail
