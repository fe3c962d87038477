#include <caisson/engine/exemplars.hpp>

#include <caisson/engine/duration_bounds.hpp>

#include <algorithm>
#include <iterator>

namespace caisson::detail {

namespace {

std::size_t place_of(measured what, bool ok) noexcept {
  return 2 * static_cast<std::size_t>(what) + (ok ? 0 : 1);
}

} // namespace

void exemplars::note(measured what, bool ok, const duration_exemplar& x) {
  auto bounds = duration_bounds();
  if (!all_)
    all_ = std::make_unique<std::array<buckets, 2 * kinds>>();
  auto& places = (*all_)[place_of(what, ok)];
  // The last one has no bound.
  if (places.empty())
    places.resize(bounds.size() + 1);
  auto i = std::lower_bound(bounds.begin(), bounds.end(), x.took);
  places[static_cast<std::size_t>(i - bounds.begin())] = x;
}

std::vector<duration_exemplar> exemplars::list(measured what, bool ok) const {
  std::vector<duration_exemplar> out;
  if (all_)
    std::copy_if((*all_)[place_of(what, ok)].begin(),
                 (*all_)[place_of(what, ok)].end(), std::back_inserter(out),
                 [](const auto& x) { return x.span != 0; });
  return out;
}

} // namespace caisson::detail
