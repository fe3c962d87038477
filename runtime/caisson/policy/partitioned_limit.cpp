#include <caisson/policy/partitioned_limit.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

namespace caisson::detail {

partitioned_limit::partitioned_limit(wait_order order,
                                     const queue_settings& rules,
                                     const partition_settings& p)
  : order_(order), rules_(rules), accounts_(1) {
  set_partitions(p);
}

// -- settings -----------------------------------------------------------------

void partitioned_limit::adapt(wait_order order, const queue_settings& rules,
                              const partition_settings& p, env& e) {
  order_ = order;
  rules_ = rules;
  // A function may name others by now.
  auto resort = !has_names(p) || ((function_ || p.by_call) && partitioned_);
  if (resort)
    return rebuild(p, e);
  for (auto& x : parts_)
    x.calls.reorder(order, rules, e.now);
  set_shares(p);
}

bool partitioned_limit::has_names(const partition_settings& p) const {
  return std::equal(p.list.begin(), p.list.end(), parts_.begin(),
                    std::prev(parts_.end()),
                    [](auto& a, auto& b) { return a.name == b.name; });
}

// What depends on no name.
void partitioned_limit::set_shares(const partition_settings& p) {
  borrow_ = p.borrow;
  function_ = p.by_call;
  auto left = whole_share;
  for (std::size_t i = 0; i < p.list.size(); ++i) {
    // They may be too large together by what was rounded up.
    parts_[i].share = std::min(billionths_of(p.list[i].share), left);
    left -= parts_[i].share;
  }
  CAISSON_ENSURE(left >= 0 && !parts_.empty(),
                 "{} partitions are left a share of {}", parts_.size(), left);
  parts_.back().share = left;
  // They are split with the next limit.
  limit_ = -1;
}

// Without calls in the queues. Partitions that stay keep their accounts.
void partitioned_limit::set_partitions(const partition_settings& p) {
  std::map<std::string, std::uint32_t> before;
  for (const auto& x : parts_) {
    before.emplace(x.name, x.account);
    accounts_[x.account].current = false;
  }
  accounts_.front().current = true;
  for (const auto& x : p.list)
    if (auto i = before.find(x.name); i != before.end())
      accounts_[i->second].current = true;
  parts_.clear();
  names_.clear();
  for (const auto& x : p.list) {
    auto i = before.find(x.name);
    names_.emplace_back(x.name, static_cast<part>(parts_.size()));
    add_part(x.name, i == before.end() ? new_account() : i->second);
  }
  add_part(std::string{partition_settings::rest_name}, 0);
  std::sort(names_.begin(), names_.end());
  for (auto& x : accounts_)
    x.owner = static_cast<part>(parts_.size() - 1);
  for (part i = 0; i < parts_.size(); ++i)
    accounts_[parts_[i].account].owner = i;
  for (const auto& x : accounts_)
    parts_[x.owner].used += x.lent;
  std::int64_t used = 0;
  for (const auto& x : parts_)
    used += x.used;
  CAISSON_ENSURE(used == in_use_, "the parts use {} of the {} permits in use",
                 used, in_use_);
  partitioned_ = !p.list.empty();
  set_shares(p);
  trim_accounts();
}

void partitioned_limit::add_part(const std::string& name,
                                 std::uint32_t account_index) {
  partition x{.name = name,
              .account = account_index,
              .calls = waiting_queue{order_, rules_}};
  x.in_use_gauge = "in_use_" + name;
  x.waiting_gauge = "waiting_" + name;
  x.guaranteed_gauge = "guaranteed_" + name;
  parts_.push_back(std::move(x));
}

std::uint32_t partitioned_limit::new_account() {
  auto unused = std::find_if(accounts_.begin(), accounts_.end(),
                             [](auto& x) { return !x.current && x.lent == 0; });
  if (unused == accounts_.end())
    unused = accounts_.emplace(unused);
  unused->current = true;
  return static_cast<std::uint32_t>(unused - accounts_.begin());
}

// Those at the end that nobody needs.
void partitioned_limit::trim_accounts() {
  while (accounts_.size() > 1 && !accounts_.back().current
         && accounts_.back().lent == 0)
    accounts_.pop_back();
  CAISSON_ENSURE(
    accounts_.front().current && accounts_.front().owner == parts_.size() - 1,
    "the first of {} accounts is not that of the rest", accounts_.size());
  plain_ = !partitioned_ && accounts_.size() == 1 && moved_.empty();
}

void partitioned_limit::rebuild(const partition_settings& p, env& e) {
  if (plain_)
    accounts_.front().lent = in_use_;
  std::vector<entry> all;
  for (auto& x : parts_) {
    auto calls = x.calls.take_all();
    all.insert(all.end(), std::make_move_iterator(calls.begin()),
               std::make_move_iterator(calls.end()));
  }
  CAISSON_ENSURE(all.size() == waiting_, "of {} calls {} are in the queues",
                 waiting_, all.size());
  std::sort(all.begin(), all.end(),
            [](auto& a, auto& b) { return a.number < b.number; });
  set_partitions(p);
  for (auto& w : all) {
    auto& x = parts_[part_of(w, e)];
    auto call = w.call;
    auto& s = moved_[call];
    s.permits = w.permits;
    s.account = x.account;
    x.calls.adopt(std::move(w), s);
  }
  trim_accounts();
  std::size_t waiting = 0;
  for (const auto& x : parts_)
    waiting += x.calls.size();
  CAISSON_ENSURE(waiting == waiting_ && moved_.size() >= waiting,
                 "{} of {} calls wait in {} new queues", waiting, waiting_,
                 parts_.size());
}

std::vector<std::int64_t> partitioned_limit::shares() const {
  std::vector<std::int64_t> out;
  for (const auto& x : parts_)
    out.push_back(x.share);
  return out;
}

void partitioned_limit::split(std::int64_t limit, std::int64_t most,
                              std::size_t places) {
  limit_ = limit;
  most_ = most;
  places_ = places;
  auto now = split_limit(limit, shares());
  auto highest = split_limit(most, shares());
  auto waiting = split_limit(static_cast<std::int64_t>(places), shares());
  CAISSON_ENSURE(now.size() == parts_.size() && limit >= 0,
                 "{} permits are split into {} parts for {}", limit, now.size(),
                 parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].guaranteed = now[i];
    parts_[i].highest = highest[i];
    parts_[i].places = waiting[i];
  }
}

// -- numbers ------------------------------------------------------------------

std::int64_t partitioned_limit::heaviest(part p) const noexcept {
  if (borrow_ || !partitioned_)
    return endless;
  return std::max<std::int64_t>({parts_[p].highest, parts_[p].guaranteed, 1});
}

partitioned_limit::capacity
partitioned_limit::capacity_of(const stay& s,
                               std::int64_t limit) const noexcept {
  if (!partitioned_)
    return {limit, std::max<std::int64_t>(limit - in_use_, 0)};
  const auto& p = of(s);
  auto permits = std::max<std::int64_t>(p.guaranteed, 1);
  // What others use beyond their parts comes back to those who have less.
  if (borrow_)
    permits = std::max(permits, limit - (in_use_ - p.used));
  return {permits, std::max<std::int64_t>(permits - p.used, 0)};
}

void partitioned_limit::list_gauges(std::int64_t limit,
                                    std::vector<metric>& out) const {
  if (!partitioned_)
    return;
  auto guaranteed = split_limit(limit, shares());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& x = parts_[i];
    out.push_back({x.in_use_gauge, x.used, true});
    out.push_back(
      {x.waiting_gauge, static_cast<std::int64_t>(x.calls.size()), true});
    out.push_back({x.guaranteed_gauge, guaranteed[i], true});
  }
}

// -- partitions of calls ------------------------------------------------------

partitioned_limit::part
partitioned_limit::part_named(std::string_view name) const noexcept {
  // Many calls in a row are of one partition.
  if (last_named_ < names_.size() && names_[last_named_].first == name)
    return names_[last_named_].second;
  auto i = std::lower_bound(names_.begin(), names_.end(), name,
                            [](auto& a, auto& b) { return a.first < b; });
  if (i == names_.end() || i->first != name)
    return static_cast<part>(parts_.size() - 1);
  last_named_ = static_cast<std::size_t>(i - names_.begin());
  return i->second;
}

// Nothing if the function throws.
std::optional<partitioned_limit::part>
partitioned_limit::part_of(const call_info& call, env& e) const {
  if (!function_)
    return part_named(partition_in(call.key));
  auto name = call_user(
    "by_call", [&] { return function_(call); }, e);
  return name ? std::optional{part_named(*name)} : std::nullopt;
}

// That of a call that waits: it stays, in the rest if the function throws.
partitioned_limit::part partitioned_limit::part_of(const entry& w,
                                                   env& e) const {
  if (!partitioned_ || !function_)
    return part_named(partition_in(w.key));
  auto rest = static_cast<part>(parts_.size() - 1);
  if (auto* call = e.find(w.call))
    return part_of(*call, e).value_or(rest);
  call_info known;
  known.id = w.call;
  known.deadline = w.deadline;
  known.priority = w.priority;
  known.permits = w.permits;
  known.key = w.key;
  return part_of(known, e).value_or(rest);
}

void partitioned_limit::count(std::uint32_t account_index,
                              std::int64_t permits) {
  auto& x = accounts_[account_index];
  auto& p = parts_[x.owner];
  x.lent += permits;
  p.used += permits;
  CAISSON_ENSURE(x.lent >= 0 && p.used >= x.lent && p.used <= in_use_,
                 "{} permits of {} count to {}, which has {} of {}", x.lent,
                 account_index, p.name, p.used, in_use_);
}

// A call was taken out of its queue, and gets nothing.
void partitioned_limit::taken(call_id call) {
  CAISSON_ENSURE(call != 0 && waiting_ > 0, "call {} is one of {} that wait",
                 call_number(call), waiting_);
  --waiting_;
  if (!plain_)
    forget(call);
}

// A call ends that may have been moved.
void partitioned_limit::forget(call_id call) {
  if (moved_.erase(call) > 0 && moved_.empty())
    trim_accounts();
}

const partitioned_limit::stay&
partitioned_limit::known(const stay& s, call_id call) const noexcept {
  if (plain_ || moved_.empty())
    return s;
  auto i = moved_.find(call);
  return i == moved_.end() ? s : i->second;
}

// -- newcomers ----------------------------------------------------------------

bool partitioned_limit::uses_less(const partition& a,
                                  const partition& b) noexcept {
  if (a.share == 0 || b.share == 0)
    return a.share > 0 && b.share == 0;
  return a.used * b.share < b.used * a.share;
}

// Of two in which calls wait: whether the next call of `a` comes before that
// of `b`.
bool partitioned_limit::is_before(const partition& a,
                                  const partition& b) noexcept {
  return uses_less(a, b)
         || (!uses_less(b, a) && a.calls.next().number < b.calls.next().number);
}

// Whether a newcomer that is the next of its partition is so of all. It does
// not weigh more than what is free.
bool partitioned_limit::has_turn(const partition& own,
                                 std::uint32_t permits) const noexcept {
  if (within(own, permits))
    return true;
  if (!may_borrow(own))
    return false;
  return std::none_of(parts_.begin(), parts_.end(), [&](auto& x) {
    if (&x == &own || x.calls.empty())
      return false;
    return within(x, x.calls.next().permits)
           || (may_borrow(x) && !uses_less(own, x));
  });
}

bool partitioned_limit::admits_to_part(const call_info& call, const stay& s,
                                       time_point now) const {
  const auto& own = of(s);
  return own.calls.newcomer_is_next(call, now) && has_turn(own, s.permits);
}

std::optional<partitioned_limit::entry>
partitioned_limit::make_room(const call_info& call, const stay& s,
                             time_point now) {
  auto* from = &parts_[accounts_[s.account].owner];
  std::optional<entry> out;
  if (partitioned_ && free_places(*from) > 0) {
    from = &*std::min_element(
      parts_.begin(), parts_.end(),
      [&](auto& a, auto& b) { return free_places(a) < free_places(b); });
    CAISSON_ENSURE(free_places(*from) < 0, "{} calls wait at {} places",
                   waiting_, places_);
    out = from->calls.drop_last();
  } else if (!from->calls.empty()) {
    out = from->calls.make_room(call, now);
  }
  if (out)
    taken(out->call);
  return out;
}

void partitioned_limit::join(const call_info& call, stay& s, time_point now,
                             time_point limit, std::uint32_t note) {
  auto& calls = parts_[accounts_[s.account].owner].calls;
  calls.join(call, s, now, limit, note, ++last_number_);
  ++waiting_;
  CAISSON_ENSURE(calls.size() <= waiting_ && calls.waits(s, call.id),
                 "{} of {} calls wait here", calls.size(), waiting_);
}

// -- those who wait -----------------------------------------------------------

const partitioned_limit::entry*
partitioned_limit::find(const stay& s, call_id call) const noexcept {
  if (waiting_ == 0)
    return nullptr;
  const auto& x = known(s, call);
  const auto& calls = of(x).calls;
  return calls.waits(x, call) ? &calls[x] : nullptr;
}

partitioned_limit::entry partitioned_limit::leave(const stay& s, call_id call) {
  const auto& x = known(s, call);
  auto& calls = parts_[accounts_[x.account].owner].calls;
  auto w = calls.leave(x);
  CAISSON_ENSURE(w.call == call && calls.size() < waiting_,
                 "call {} leaves in place of call {}", call_number(w.call),
                 call_number(call));
  taken(call);
  return w;
}

// -- turns --------------------------------------------------------------------

partitioned_limit::part
partitioned_limit::next_part(std::int64_t free) const noexcept {
  const partition* first = nullptr;
  auto some_within = false;
  for (const auto& x : parts_) {
    if (x.calls.empty())
      continue;
    auto permits = x.calls.next().permits;
    if (within(x, permits)) {
      if (!some_within)
        first = nullptr;
      some_within = true;
      if (permits > free)
        continue;
    } else if (some_within || !may_borrow(x)) {
      continue;
    }
    if (!first || is_before(x, *first))
      first = &x;
  }
  return first && first->calls.next().permits <= free
           ? static_cast<part>(first - parts_.data())
           : none;
}

partitioned_limit::entry partitioned_limit::take_next(part p) {
  CAISSON_ENSURE(p < parts_.size() && !parts_[p].calls.empty() && waiting_ > 0,
                 "{} calls wait, none of part {}", waiting_, p);
  auto w = parts_[p].calls.take_next();
  --waiting_;
  in_use_ += w.permits;
  if (!plain_)
    count(parts_[p].account, w.permits);
  return w;
}

partitioned_limit::entry partitioned_limit::drop_next(part p) {
  CAISSON_ENSURE(p < parts_.size() && !parts_[p].calls.empty(),
                 "{} calls wait, none of part {}", waiting_, p);
  auto w = parts_[p].calls.drop_next();
  taken(w.call);
  return w;
}

void partitioned_limit::end_shedding() noexcept {
  if (!partitioned_) {
    if (waiting_ == 0)
      parts_.front().calls.idle();
    return;
  }
  for (auto& x : parts_)
    if (x.calls.empty() && has_turn(x, 1))
      x.calls.idle();
}

// -- those who run ------------------------------------------------------------

void partitioned_limit::give_back(const stay& s, call_id call) {
  in_use_ -= s.permits;
  if (plain_)
    return;
  count(known(s, call).account, -std::int64_t{s.permits});
  if (!moved_.empty())
    moved_.erase(call);
  // Otherwise there is nothing to trim.
  if (!partitioned_ || !accounts_.back().current)
    trim_accounts();
}

} // namespace caisson::detail
