#include <simulator/play/world_hash.hpp>

#include <simulator/scenario/overlay.hpp>
#include <simulator/scenario/sweep_values.hpp>

#include <caisson/base/hash.hpp>

#include <bit>
#include <string>

namespace caisson::sim {

namespace {

class hasher {
public:
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    value_ = detail::fnv1a(text, value_);
  }

  void add(std::uint64_t x) {
    for (int i = 0; i < 8; ++i)
      value_ = detail::fnv1a(static_cast<unsigned char>(x >> (8 * i)), value_);
  }

  void add(double x) { add(std::bit_cast<std::uint64_t>(x)); }
  void add(duration d) { add(static_cast<std::uint64_t>(d.count())); }

  [[nodiscard]] std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = detail::fnv1a_start;
};

settings without_descriptions(settings table) {
  for (auto key : {"title", "seed", "rows", "expect", "sweep", "tune", "arm"})
    table.erase(key);
  return table;
}

// The world of an arm as it is written.
settings world_of(const settings& root, const std::string& arm) {
  auto base = without_descriptions(root);
  auto arms = root.find("arm");
  auto all = arms == root.end() ? nullptr
                                : std::get_if<settings>(&arms->second.value);
  auto own = all ? all->find(arm) : settings::const_iterator{};
  if (!all || own == all->end())
    return base;
  auto table = std::get_if<settings>(&own->second.value);
  return table ? overlaid(base, without_descriptions(*table)) : base;
}

// The order of what is made one after the other, which shows where things
// happen at the same instant, and where one of several is drawn.
void add_order(hasher& h, const arm_config& arm) {
  for (const auto& s : arm.services) {
    h.add(s.name);
    for (const auto& op : s.operations)
      h.add(op.name);
  }
  for (const auto& load : arm.loads) {
    h.add(load.name);
    for (const auto& [operation, weight] : load.mix)
      h.add(operation);
  }
}

// What has been read from other files.
void add_recordings(hasher& h, const arm_config& arm) {
  for (const auto& load : arm.loads) {
    if (!load.recording)
      continue;
    h.add(load.name);
    for (const auto& p : load.profile) {
      h.add(p.at);
      h.add(p.rate);
      h.add(p.before.value_or(-1));
    }
    for (auto at : load.arrivals)
      h.add(at);
  }
}

} // namespace

std::uint64_t world_hash(const settings& root, const arm_config& arm,
                         std::string_view version) {
  hasher h;
  h.add(std::string_view{"cell 2"});
  h.add(version);
  h.add(canonical_text(world_of(root, arm.name)));
  add_order(h, arm);
  add_recordings(h, arm);
  return h.value();
}

} // namespace caisson::sim
