#include <simulator/remote/remote_watch.hpp>

#include <simulator/report/numbers.hpp>

#include <caisson/settings.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::sim {

namespace {

// `; Connection refused`
std::string reason_of(const worker_view& x) {
  return x.text.empty() ? "no answer" : x.text;
}

} // namespace

void remote_watch::check(const worker_view& x, known& k, duration now,
                         std::vector<std::string>& out) {
  auto before = std::exchange(k.presence, x.presence);
  auto say = [&](std::string text) {
    // Not over and over.
    if (text != k.text)
      out.push_back(k.text = std::move(text));
  };
  switch (x.presence) {
    case worker_presence::connected:
      if (before == worker_presence::disconnected || k.mentioned)
        say(fmt::format("worker {} is connected, with {} core{}", x.name,
                        x.cores, x.cores == 1 ? "" : "s"));
      k.mentioned = false;
      break;
    case worker_presence::refused:
      say(fmt::format("worker {} is not used: {}", x.name, x.text));
      k.mentioned = true;
      break;
    case worker_presence::disconnected:
      // Perhaps it was there between two looks.
      if (before != worker_presence::disconnected)
        say(fmt::format("worker {} is lost ({}); its runs are repeated", x.name,
                        reason_of(x)));
      break;
    case worker_presence::expected:
      if (now >= patience && !std::exchange(k.mentioned, true))
        say(fmt::format("worker {} is not connected yet ({})", x.name,
                        reason_of(x)));
      break;
  }
}

std::vector<std::string>
remote_watch::check(const std::vector<worker_view>& all, duration now) {
  std::vector<std::string> out;
  known_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    check(all[i], known_[i], now, out);
  auto count = [&](worker_presence p) {
    return static_cast<std::size_t>(
      std::ranges::count(all, p, &worker_view::presence));
  };
  connected_ = count(worker_presence::connected);
  all_refused_ = count(worker_presence::refused) == all.size();
  if (connected_ > 0) {
    alone_since_ = now;
    reported_alone_ = false;
  }
  alone_for_ = now - alone_since_;
  if (!local_ && alone_for_ >= patience
      && !std::exchange(reported_alone_, true))
    out.push_back(fmt::format("no worker is connected; waiting for one, for at "
                              "most {}",
                              to_text(wait_)));
  return out;
}

std::optional<std::string> remote_watch::hopeless() const {
  if (local_ || connected_ > 0)
    return std::nullopt;
  if (all_refused_)
    return "none of the workers can be used";
  if (alone_for_ >= wait_)
    return fmt::format("no worker has been connected for {}", to_text(wait_));
  return std::nullopt;
}

std::string run_counts_text(const std::vector<worker_view>& all,
                            std::uint64_t local) {
  std::string out = "runs: ";
  for (const auto& x : all)
    out += fmt::format("{} {}, ", x.name, grouped(x.played));
  return out + "this machine " + grouped(local);
}

} // namespace caisson::sim
