#include <caisson/detail/durations.hpp>

namespace caisson::detail {

void durations::record(measured what, bool ok, duration d) {
  auto& h = histograms_[index_of(what, ok)];
  if (!h)
    h = std::make_unique<histogram>();
  h->record(d);
}

std::vector<duration_summary> durations::list() const {
  std::vector<duration_summary> out;
  for (std::size_t i = 0; i < histograms_.size(); ++i) {
    const auto* h = histograms_[i].get();
    if (!h)
      continue;
    auto share = [h](double q) { return h->quantile(q).value_or(h->max()); };
    out.push_back({static_cast<measured>(i / 2), i % 2 == 0, h->count(),
                   share(0.5), share(0.9), share(0.99), h->max()});
  }
  return out;
}

} // namespace caisson::detail
