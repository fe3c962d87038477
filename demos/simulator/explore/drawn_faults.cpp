#include <simulator/explore/drawn_faults.hpp>

#include <simulator/scenario/random.hpp>

#include <utility>

namespace caisson::sim {

namespace {

class fault_drawer {
public:
  fault_drawer(const fault_menu& menu, std::uint64_t key)
    : menu_(menu), random_(draw_key{key}.with("explore")) {}

  std::vector<fault_config> draw() {
    std::vector<fault_config> out(1 + random_.below(menu_.bounds.most));
    for (auto& f : out)
      f = one();
    return out;
  }

private:
  template <class List>
  const auto& any(const List& list) {
    return list[random_.below(list.size())];
  }

  // As a whole, or with the same chance a replica of it.
  const std::string& name(const std::vector<std::string>& names) {
    if (names.size() == 1 || random_.below(2) == 0)
      return names.front();
    return names[1 + random_.below(names.size() - 1)];
  }

  fault_config one() {
    fault_config f;
    f.kind = any(menu_.kinds);
    if (hits_messages(f.kind))
      draw_sides(f);
    else
      f.target = name(menu_.services[any(menu_.services_for(f.kind))].names);
    auto steps = (menu_.to - menu_.from) / menu_.unit;
    f.at = menu_.from
           + menu_.unit
               * static_cast<std::int64_t>(
                 random_.below(static_cast<std::uint64_t>(steps)));
    if (f.kind != fault_kind::flush)
      f.lasts = any(menu_.lengths(f.at));
    if (auto sizes = menu_.sizes(f); !sizes.empty())
      f = any(sizes);
    return f;
  }

  void draw_sides(fault_config& f) {
    const auto& m = any(menu_.messages);
    f.from = {name(m.callers)};
    f.to = m.cuts_zone_off ? m.all_services() : std::vector{name(m.services)};
    switch (random_.below(4)) {
      case 0:
        f.direction = fault_direction::one_way;
        break;
      case 1:
        f.direction = fault_direction::one_way;
        std::swap(f.from, f.to);
        break;
      default:
        break;
    }
  }

  const fault_menu& menu_;
  keyed_random random_;
};

} // namespace

std::vector<fault_config> drawn_faults(const fault_menu& menu,
                                       std::uint64_t key) {
  return fault_drawer{menu, key}.draw();
}

} // namespace caisson::sim
