#include <caisson/policy/fair_turns.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>

namespace caisson::detail {

void fair_turns::join(place p, std::string_view key, std::uint32_t permits) {
  auto i = flows_.find(key);
  if (i == flows_.end()) {
    i = flows_.try_emplace(std::string{key}).first;
    ring_.push_back(i->second);
  }
  if (p >= nodes_.size())
    nodes_.resize(p + std::size_t{1});
  auto& f = i->second;
  CAISSON_ENSURE((f.first == none) == (f.last == none)
                   && (f.last == none || nodes_[f.last].after == none),
                 "place {} is not the last of its key", f.last);
  nodes_[p] = {i, f.last, none, permits};
  (f.last == none ? f.first : nodes_[f.last].after) = p;
  f.last = p;
  count(f, 1, permits);
  find_turn();
}

void fair_turns::leave(place p, bool pays) {
  CAISSON_ENSURE(p < nodes_.size() && !flows_.empty(),
                 "place {} of {} becomes free", p, nodes_.size());
  auto s = nodes_[p];
  auto& f = s.owner->second;
  auto& before = s.before == none ? f.first : nodes_[s.before].after;
  auto& after = s.after == none ? f.last : nodes_[s.after].before;
  CAISSON_ENSURE(before == p && after == p, "place {} is not linked", p);
  before = s.after;
  after = s.before;
  count(f, -1, -std::int64_t{s.permits});
  if (pays) {
    CAISSON_ENSURE(f.credit >= s.permits, "{} permits for a credit of {}",
                   s.permits, f.credit);
    f.credit -= s.permits;
  }
  if (f.first == none) {
    CAISSON_ENSURE(f.waiting.calls == 0 && f.waiting.permits == 0,
                   "{} calls of weight {} are left without a place",
                   f.waiting.calls, f.waiting.permits);
    in_turn_ = in_turn_ && &ring_.front() != &f;
    flows_.erase(s.owner);
  }
  CAISSON_ENSURE(flows_.size() <= calls_ && flows_.empty() == (calls_ == 0),
                 "{} keys have {} calls", flows_.size(), calls_);
  if (flows_.empty())
    restart();
  find_turn();
}

void fair_turns::clear() noexcept {
  flows_.clear();
  restart();
}

// Nobody waits. Memory is given back after a peak.
void fair_turns::restart() noexcept {
  in_turn_ = false;
  calls_ = 0;
  round_ = 1;
  quantum_ = 0;
  heaviest_ = 0;
  constexpr auto kept = std::size_t{1024};
  if (nodes_.size() > kept)
    std::vector<node>{}.swap(nodes_);
  decltype(lengths_) none_waits;
  if (lengths_.capacity() > kept)
    lengths_.swap(none_waits);
  else
    lengths_.clear();
}

fair_turns::place fair_turns::next() const noexcept {
  return ring_.empty() ? none : ring_.front().first;
}

// Lets the ring go on until the first call of the first key can be paid for.
void fair_turns::find_turn() {
  while (!ring_.empty()) {
    auto& f = ring_.front();
    CAISSON_ENSURE(f.first != none && f.round <= round_,
                   "round {}, and a key in round {}", round_, f.round);
    if (!in_turn_) {
      if (f.round == round_) {
        ++round_;
        quantum_ = heaviest_;
        heaviest_ = 0;
      }
      f.round = round_;
      f.credit += quantum_;
      in_turn_ = true;
    }
    auto price = std::int64_t{nodes_[f.first].permits};
    if (price <= f.credit)
      return;
    heaviest_ = std::max(heaviest_, price);
    in_turn_ = false;
    ring_.pop_front();
    ring_.push_back(f);
  }
}

// -- a full queue -------------------------------------------------------------

void fair_turns::count(flow& f, std::int64_t calls, std::int64_t permits) {
  CAISSON_ENSURE(calls > 0 || (f.waiting.calls > 0 && calls_ > 0),
                 "of {} calls {} have this key, and one leaves", calls_,
                 f.waiting.calls);
  calls_ += static_cast<std::size_t>(calls);
  f.waiting.calls += static_cast<std::size_t>(calls);
  f.waiting.permits += permits;
  static_cast<link<by_length>&>(f).unlink();
  if (auto n = f.waiting.calls; n > 0) {
    if (n > lengths_.size())
      lengths_.resize(n);
    lengths_[n - 1].push_back(f);
  }
  // Lengths change by one, so one step is enough.
  if (!lengths_.empty() && lengths_.back().empty())
    lengths_.pop_back();
}

fair_turns::total fair_turns::of_key(std::string_view key) const {
  auto i = flows_.find(key);
  return i == flows_.end() ? total{} : i->second.waiting;
}

std::size_t fair_turns::most() const noexcept {
  return lengths_.size();
}

fair_turns::place fair_turns::newest_of_most() const noexcept {
  return lengths_.back().front().last;
}

} // namespace caisson::detail
