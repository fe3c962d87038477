#include <caisson/policies/keyed/key_sums.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

namespace {

// Of a level the largest says something, of a number of things the sum.
bool is_level(std::string_view name) {
  return name == "state" || name == "automatic_state" || name == "alarm"
         || name == "limit_us" || name == "latency_us" || name == "baseline_us"
         || name.starts_with("longest_") || name.ends_with("_permille")
         || name.ends_with("_in_a_row");
}

// Policies may list the largest number there is; a sum wraps, so that what is
// added can be taken away.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a)
                                   + static_cast<std::uint64_t>(b));
}

} // namespace

key_sums::key_sums(const policy& pattern) {
  follow(pattern);
}

void key_sums::follow(const policy& pattern) {
  for (auto& s : sums_)
    s.listed = s.what == kind::counter;
  std::vector<metric> metrics;
  pattern.list_metrics(metrics);
  for (const auto& m : metrics) {
    auto place = place_of(m.name, 0);
    if (place == sums_.size())
      add_place(m);
    sums_[place].listed = true;
  }
}

void key_sums::add_place(const metric& m) {
  auto what = !m.gauge           ? kind::counter
              : is_level(m.name) ? kind::level
                                 : kind::amount;
  sums_.push_back({{names_.emplace_back(m.name), 0, m.gauge}, what});
}

// -- keys ---------------------------------------------------------------------

void key_sums::add(key_entry& x) {
  x.rank = x.worse = key_entry::nowhere;
  enter(x);
}

void key_sums::freshen(key_entry& x) {
  count(x, -1, all);
  enter(x);
}

// Its place in the rankings stays, and is not used while it is fresh.
void key_sums::enter(key_entry& x) {
  auto& place = fresh_[next_];
  if (place) {
    CAISSON_ENSURE(place->fresh == next_, "a key is fresh at {}, not at {}",
                   place->fresh, next_);
    rank(*place);
  }
  place = &x;
  x.fresh = next_;
  next_ = (next_ + 1) % most_fresh;
}

void key_sums::rank(key_entry& x) {
  x.fresh = key_entry::nowhere;
  count(x, 1, all);
  ranking_.set(x, x.admitted);
  if (x.machine->circuit(x.key) == circuit::closed)
    circuits_.erase(x);
  else
    circuits_.set(x, badness(x));
}

void key_sums::remove(key_entry& x) {
  if (x.fresh == key_entry::nowhere) {
    count(x, -1, gauges);
  } else {
    CAISSON_ENSURE(fresh_[x.fresh] == &x, "a key is not fresh");
    count(x, 1, counters);
    fresh_[std::exchange(x.fresh, key_entry::nowhere)] = nullptr;
  }
  ranking_.erase(x);
  circuits_.erase(x);
}

std::size_t key_sums::shed(std::size_t most) {
  std::size_t n = 0;
  for (auto& s : sums_)
    for (; n < most && !s.levels.empty(); ++n)
      s.levels.erase(s.levels.begin());
  return n;
}

// -- sums ---------------------------------------------------------------------

// Nothing if that throws.
const std::vector<metric>& key_sums::ask(const policy& x) const {
  asked_.clear();
  if (!try_user([&] { x.list_metrics(asked_); }, [](std::string_view) {}))
    asked_.clear();
  return asked_;
}

// Policies of one kind list the same numbers in the same order, as a rule.
std::size_t key_sums::place_of(std::string_view name,
                               std::size_t likely) const {
  auto has_name = [&](const sum& s) { return s.total.name == name; };
  if (likely < sums_.size() && has_name(sums_[likely]))
    return likely;
  auto i = std::find_if(sums_.begin(), sums_.end(), has_name);
  return static_cast<std::size_t>(i - sums_.begin());
}

// Adds what the policy lists, or takes it away.
void key_sums::count(const key_entry& x, int sign, unsigned parts) {
  const auto& listed = ask(*x.machine);
  for (std::size_t i = 0; i < listed.size(); ++i) {
    auto place = place_of(listed[i].name, i);
    if (place == sums_.size())
      add_place(listed[i]); // A key with settings of its own.
    auto& s = sums_[place];
    if ((parts & (s.what == kind::counter ? counters : gauges)) == 0)
      continue;
    if (s.what != kind::counter)
      sign > 0 ? ++s.holders : --s.holders;
    if (s.what == kind::level)
      count_level(s.levels, listed[i].value, sign);
    else
      s.total.value = sum_of(s.total.value, sign * listed[i].value);
  }
}

void key_sums::count_level(level_counts& levels, std::int64_t value, int sign) {
  if (sign > 0) {
    ++levels[value];
    return;
  }
  auto i = levels.find(value);
  if (i != levels.end() && --i->second == 0)
    levels.erase(i);
}

void key_sums::list(std::vector<metric>& out, const policy& blank) const {
  auto first = out.size();
  std::vector<bool> shown(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i)
    shown[i] = sums_[i].listed || sums_[i].holders > 0;
  for (const auto& s : sums_) {
    out.push_back(s.total);
    if (!s.levels.empty())
      out.back().value = s.levels.rbegin()->first;
  }
  std::vector<bool> known(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i)
    known[i] = sums_[i].what != kind::level || !sums_[i].levels.empty();
  for (const auto* x : fresh_) {
    if (!x)
      continue;
    const auto& listed = ask(*x->machine);
    for (std::size_t i = 0; i < listed.size(); ++i) {
      auto place = place_of(listed[i].name, i);
      if (place == sums_.size()) {
        add_unplaced(listed[i], out, first + place);
        continue;
      }
      shown[place] = true;
      auto& total = out[first + place].value;
      auto value = listed[i].value;
      if (sums_[place].what != kind::level)
        total = sum_of(total, value);
      else
        total = known[place] ? std::max(total, value) : value;
      known[place] = true;
    }
  }
  if (std::find(known.begin(), known.end(), false) != known.end())
    for (const auto& m : ask(blank))
      if (auto place = place_of(m.name, 0);
          place < sums_.size() && !known[place])
        out[first + place].value = m.value;
  for (auto i = sums_.size(); i > 0; --i)
    if (!shown[i - 1])
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(first + i - 1));
}

// Of a number that only fresh keys list so far.
void key_sums::add_unplaced(const metric& m, std::vector<metric>& out,
                            std::size_t from) {
  auto begin = out.begin() + static_cast<std::ptrdiff_t>(from);
  auto i = std::find_if(begin, out.end(),
                        [&](const metric& x) { return x.name == m.name; });
  if (i == out.end())
    out.push_back(m);
  else
    i->value = is_level(m.name) ? std::max(i->value, m.value)
                                : sum_of(i->value, m.value);
}

// -- which ones ---------------------------------------------------------------

// Of the worst circuits, the one that was made first.
std::int64_t key_sums::badness(const key_entry& x) {
  constexpr auto step = std::int64_t{1} << 60;
  return static_cast<std::int64_t>(x.machine->circuit(x.key)) * step
         - static_cast<std::int64_t>(x.number);
}

// Those that are ranked and those that are fresh.
template <class Ranking, class F>
std::vector<const key_entry*> key_sums::first(const Ranking& ranked,
                                              std::size_t n, F weight) const {
  using item = typename Ranking::item;
  std::vector<item> found;
  ranked.list_first(
    n, [](const key_entry& x) { return x.fresh == key_entry::nowhere; }, found);
  for (auto* x : fresh_)
    if (x)
      found.push_back({weight(*x), x});
  std::sort(found.begin(), found.end(),
            [](const item& a, const item& b) { return a.leads(b); });
  std::vector<const key_entry*> out;
  for (std::size_t i = 0; i < std::min(n, found.size()); ++i)
    out.push_back(found[i].entry);
  return out;
}

const key_entry* key_sums::worst() const {
  auto found = first(circuits_, 1, badness);
  if (found.empty()
      || found.front()->machine->circuit(found.front()->key) == circuit::closed)
    return nullptr;
  return found.front();
}

std::vector<const key_entry*> key_sums::busiest(std::size_t n) const {
  return first(ranking_, n, [](const key_entry& x) { return x.admitted; });
}

} // namespace caisson::detail
