#include <sim/sweep/sweeper.hpp>

#include <sim/command/ordered_work.hpp>
#include <sim/report/expectations.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::size_t most_recent = 16;

bool has_all(const cell_result& c, const std::vector<std::string>& metrics) {
  return std::ranges::all_of(
    metrics, [&](const auto& name) { return c.metrics.contains(name); });
}

// What is kept on disk is more than what is shown.
cell_result only(cell_result c, const std::vector<std::string>& metrics) {
  std::erase_if(c.metrics, [&](const auto& metric) {
    return std::ranges::find(metrics, metric.first) == metrics.end();
  });
  return c;
}

} // namespace

sweeper::sweeper(const sweep_plan& plan,
                 const std::vector<std::uint64_t>& worlds, cell_store* store,
                 progress_bar& bar, const command_parts& parts)
  : plan_(plan), worlds_(worlds), store_(store), bar_(bar), parts_(parts) {}

sweep_report sweeper::play_all(std::size_t jobs) {
  sweep_report r{.plan = plan_, .cells = {}, .failures = {}};
  r.cells.resize(plan_.cells());
  find_kept(r);
  ordered_work<bool> all{missing_.size(), jobs};
  if (!stopped())
    all.run([&](std::size_t i) { return play(missing_[i], r); },
            [&](std::size_t, bool) { return !stopped(); });
  bar_.clear();
  r.interrupted = stopped()
                  && std::ranges::any_of(missing_, [&](std::size_t i) {
                       return !r.cells[i].has_value();
                     });
  std::ranges::sort(r.failures);
  return r;
}

void sweeper::find_kept(sweep_report& r) {
  for (std::size_t i = 0; i < r.cells.size(); ++i) {
    auto found = store_ ? store_->find(key_of(i)) : std::nullopt;
    if (found && has_all(*found, plan_.metrics)) {
      r.cells[i] = only(std::move(*found), plan_.metrics);
      ++kept_;
    } else {
      missing_.push_back(i);
    }
  }
}

// False if it was interrupted. The result is kept at once, so that nothing is
// lost that waits for its turn.
bool sweeper::play(std::size_t cell, sweep_report& r) {
  auto at = plan_.cell_at(cell);
  auto world = arms_at(at.point);
  run_options o{.seed = plan_.seed + at.seed,
                .progress = [this, cell](double share) { show(cell, share); },
                .stop = parts_.stop,
                .abandon = parts_.catch_signals,
                .log = {}};
  auto result = parts_.play((*world)[at.arm], o);
  auto failed = failed_checks(result);
  if (result.interrupted)
    return false;
  auto kept = cell_result_of(result, plan_.metrics);
  if (store_ && failed.empty())
    store_->add(key_of(cell), kept);
  std::lock_guard guard{mutex_};
  shares_.erase(cell);
  ++played_;
  r.cells[cell] = only(std::move(kept), plan_.metrics);
  for (const auto& text : failed)
    r.failures.push_back(fmt::format("{}: {}", label_of(at), text));
  return true;
}

std::shared_ptr<const sweeper::arms> sweeper::arms_at(std::size_t point) {
  {
    std::lock_guard guard{mutex_};
    for (const auto& [which, what] : recent_)
      if (which == point)
        return what;
  }
  auto out = std::make_shared<const arms>(plan_.arms_at(point));
  std::lock_guard guard{mutex_};
  if (recent_.size() >= most_recent)
    recent_.erase(recent_.begin());
  recent_.emplace_back(point, out);
  return out;
}

void sweeper::show(std::size_t cell, double share) {
  if (!parts_.terminal)
    return;
  std::lock_guard guard{mutex_};
  shares_[cell] = share;
  auto sum = static_cast<double>(played_);
  for (const auto& [which, its] : shares_)
    sum += its;
  auto first = plan_.cell_at(shares_.begin()->first);
  auto label = label_of(first);
  bar_.show({label, played_, missing_.size(), plan_.seed + first.seed},
            sum / static_cast<double>(missing_.size()));
}

std::string sweeper::key_of(std::size_t cell) const {
  auto at = plan_.cell_at(cell);
  return cell_key(worlds_[at.point * plan_.arms.size() + at.arm],
                  plan_.arms[at.arm], plan_.seed + at.seed);
}

std::string sweeper::label_of(const sweep_cell& c) const {
  auto out = plan_.label(c.point);
  return plan_.arms.size() > 1 ? out + " " + plan_.arms[c.arm] : out;
}

} // namespace caisson::sim
