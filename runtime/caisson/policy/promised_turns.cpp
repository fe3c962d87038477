#include <caisson/policy/promised_turns.hpp>

#include <algorithm>

namespace caisson::detail {

void promised_turns::settle(rate_source& source, time_point now) {
  while (!turns_.empty()) {
    const auto& [key, n] = *turns_.begin();
    if (key.first > now)
      break;
    source.advance(key.first);
    source.take_in_any_case(n);
    turns_.erase(turns_.begin());
  }
  source.advance(now);
}

bool promised_turns::take(rate_source& source, std::int64_t n) const {
  if (turns_.empty())
    return source.take(n);
  auto after = source;
  if (!after.take(n))
    return false;
  auto last = after;
  for (const auto& [key, tokens] : turns_) {
    last.advance(key.first);
    if (!last.take(tokens))
      return false;
  }
  source = after;
  return true;
}

// Takes tokens only before the next promise, and only if all promises can be
// kept then. In each gap the earliest instant is the best one: what is taken
// later leaves less for those who come after.
time_point promised_turns::outlook::put(std::int64_t n, time_point from) {
  for (;; ++next_) {
    auto t = std::max(source_.ready_at(0, n), from);
    if (next_ == end_ || (t <= next_->first.first && fits(source_, n, t))) {
      if (t == never)
        return never;
      source_.advance(t);
      source_.take_in_any_case(n);
      return t;
    }
    source_.advance(next_->first.first);
    source_.take_in_any_case(next_->second);
  }
}

bool promised_turns::outlook::fits(rate_source source, std::int64_t n,
                                   time_point t) const {
  source.advance(t);
  if (!source.take(n))
    return false;
  for (auto i = next_; i != end_; ++i) {
    source.advance(i->first.first);
    if (!source.take(i->second))
      return false;
  }
  return true;
}

} // namespace caisson::detail
