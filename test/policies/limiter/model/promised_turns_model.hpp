// Turns that were promised, as a list.
#pragma once

#include <caisson/policy/rate_source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace caisson::test {

/// Tries one gap after the other.
class promised_turns_model {
public:
  using list = std::map<std::pair<time_point, call_id>, std::uint32_t>;

  // Tries one gap after the other, for each of those who wait and then for one
  // more.
  time_point turn_of(detail::rate_source source,
                     std::vector<std::uint32_t> weights,
                     time_point from) const {
    auto i = turns.begin();
    for (std::size_t k = 0;;) {
      auto is_last = k + 1 == weights.size();
      auto t = source.ready_at(0, weights[k]);
      if (is_last)
        t = std::max(t, from);
      auto after = source;
      after.advance(t);
      if (i == turns.end()
          || (t <= i->first.first && after.take(weights[k])
              && keeps(after, source, i))) {
        if (is_last)
          return t;
        source.advance(t);
        source.take_in_any_case(weights[k++]);
        continue;
      }
      source.advance(i->first.first);
      source.take_in_any_case(i->second);
      ++i;
    }
  }

  bool take(detail::rate_source& source, std::int64_t n) const {
    auto after = source;
    if (!after.take(n) || !keeps(after, source, turns.begin()))
      return false;
    source = after;
    return true;
  }

  void catch_up(time_point now) {
    std::erase_if(turns, [&](auto& x) { return x.first.first <= now; });
  }

  list turns;

private:
  // Whether all is as it would be anyhow, or each can be kept.
  bool keeps(detail::rate_source source, detail::rate_source without,
             list::const_iterator i) const {
    for (; i != turns.end(); ++i) {
      source.advance(i->first.first);
      without.advance(i->first.first);
      if (source == without)
        return true;
      without.take_in_any_case(i->second);
      if (!source.take(i->second))
        return false;
    }
    return true;
  }
};

} // namespace caisson::test
