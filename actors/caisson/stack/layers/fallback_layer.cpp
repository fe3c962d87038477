#include <caisson/stack/layers/fallback_layer.hpp>

#include <cstddef>

namespace caisson {

namespace {

std::vector<alternative_kind> kinds_of(const std::vector<alternative>& chain) {
  std::vector<alternative_kind> out;
  out.reserve(chain.size());
  for (const auto& x : chain)
    out.push_back(x.kind);
  return out;
}

} // namespace

fallback_layer::fallback_layer(const fallback_config& c,
                               std::vector<alternative> chain)
  : policy_layer<fallback>(c, kinds_of(chain)), chain_(std::move(chain)) {}

void fallback_layer::check_extras(const std::vector<alternative>& chain,
                                  const setting_path& path, problems& out) {
  if (chain.empty())
    out.push_back({problem_kind::missing, path / "alternatives",
                   "a fallback needs at least one alternative"});
  for (std::size_t i = 0; i < chain.size(); ++i)
    if (chain[i].kind != alternative_kind::value && !chain[i].target)
      out.push_back({problem_kind::missing, path / "alternatives" / i,
                     "the handle of the actor is null"});
}

std::vector<caf::actor> fallback_layer::targets() const {
  std::vector<caf::actor> out;
  out.reserve(chain_.size());
  for (const auto& x : chain_)
    out.push_back(x.target);
  return out;
}

caf::message fallback_layer::value(std::uint64_t index) const {
  return chain_[index].value;
}

} // namespace caisson
