#include <caisson/batcher.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, batcher_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.integer<std::uint32_t>(
    {"max_items", "a batch is sent when it has this many items", "items"},
    c.max_items, {1, 100'000});
  v.on({"max_delay", "a batch is sent this long after its first item came; 0: "
                     "items wait only while `max_outstanding` batches are "
                     "under way"},
       c.max_delay, {0ns, 1h});
  v.integer<std::uint32_t>({"max_outstanding",
                            "how many batches may be under way at once; items "
                            "that come meanwhile wait",
                            "batches"},
                           c.max_outstanding, {1, 1'000});
  v.integer<std::uint32_t>(
    {"max_waiting",
     "how many items may be held that are not sent yet, at least `max_items`; "
     "further ones are rejected",
     "items"},
    c.max_waiting, {1, 1'000'000});
  v.on({"deadline_margin", "a batch is sent this long before the earliest "
                           "deadline in it: the time that a batch takes"},
       c.deadline_margin, {0ns, 1h});
}

void check(const batcher_config& c, const std::string& path, problems& out) {
  // Otherwise a batch could never fill up.
  if (c.max_waiting < c.max_items)
    out.push_back({"", joined(path, "max_waiting"),
                   fmt::format("{} is less than max_items, allowed: {} to "
                               "1000000",
                               c.max_waiting, c.max_items)});
}

batcher::batcher(batcher_config c) : config_(std::move(c)) {
  require_valid(config_);
}

void batcher::reconfigure(batcher_config c, env& e) {
  config_ = std::move(c);
  flush_due(e);
}

// -- when a batch is due ------------------------------------------------------

time_point batcher::delay_due() const noexcept {
  return after(items_[first_].joined, config_.max_delay);
}

time_point batcher::deadline_due() const noexcept {
  auto deadline = deadlines_.next();
  if (deadline == never)
    return never;
  // A deadline before the clock's first instant plus the margin is long past.
  if (deadline < time_point::min() + config_.deadline_margin)
    return time_point::min();
  return deadline - config_.deadline_margin;
}

std::optional<batcher::reason> batcher::due(time_point now) const noexcept {
  if (waiting_ == 0 || blocked())
    return std::nullopt; // Never an empty batch, never one too many.
  if (waiting_ >= config_.max_items)
    return reason::count;
  if (draining_)
    return reason::drain;
  auto delay = delay_due();
  auto deadline = deadline_due();
  if (now < std::min(delay, deadline))
    return std::nullopt; // Not yet; `wakeup` says when.
  return deadline < delay ? reason::deadline : reason::delay;
}

time_point batcher::wakeup() const {
  // While as many batches as allowed are under way, time changes nothing: the
  // next one is sent by `batch_done`. While draining, items only wait for that.
  if (waiting_ == 0 || blocked())
    return never;
  return std::min(delay_due(), deadline_due());
}

void batcher::wake(env& e) {
  flush_due(e);
}

void batcher::drain(env& e) {
  draining_ = true;
  flush_due(e);
}

// -- batches ------------------------------------------------------------------

void batcher::flush_due(env& e) {
  while (auto why = due(e.now))
    launch(*why, e);
}

void batcher::launch(reason why, env& e) {
  auto n = std::min<std::size_t>(waiting_, config_.max_items);
  auto id = ++last_batch_;
  auto all = n == waiting_;
  for (std::size_t i = 0; i < n; ++i) {
    auto& x = items_[first_];
    x.batch = id;
    if (!all)
      deadlines_.cancel(x.deadline);
    first_ = items_.next(first_);
  }
  if (all)
    deadlines_.clear();
  waiting_ -= n;
  running_.push_back({id, static_cast<std::uint32_t>(n)});
  counters_.add(static_cast<counter>(why));
  e.tell({.kind = event_kind::flushed, .detail = text_of(why)});
  e.launch(id);
}

std::string_view batcher::text_of(reason why) noexcept {
  switch (why) {
    case reason::count:
      return "count";
    case reason::delay:
      return "delay";
    case reason::deadline:
      return "deadline";
    case reason::drain:
      return "drain";
  }
  return {};
}

std::vector<batcher::batch_state>::iterator batcher::find(std::uint64_t batch) {
  return std::find_if(running_.begin(), running_.end(),
                      [=](const auto& b) { return b.id == batch; });
}

std::vector<call_id> batcher::take_batch(std::uint64_t batch) {
  std::vector<call_id> result;
  auto b = find(batch);
  if (b == running_.end())
    return result; // Emptied by `abandon`, and over since.
  result.reserve(b->untaken);
  for (auto h = items_.front(); b->untaken > 0;) {
    auto next = items_.next(h);
    if (items_[h].batch == batch) {
      result.push_back(items_.erase(h).call);
      --b->untaken;
    }
    h = next;
  }
  return result;
}

void batcher::batch_done(std::uint64_t batch, env& e) {
  auto b = find(batch);
  if (b == running_.end())
    return; // Over before: it was emptied, or the host says it twice.
  assert(b->untaken == 0);
  running_.erase(b);
  flush_due(e);
}

// -- calls --------------------------------------------------------------------

decision batcher::admit(flight& call, slot& notes, env& e) {
  if (items_.size() >= config_.max_waiting) {
    counters_.add(counter::rejected_full);
    e.tell({.kind = event_kind::rejected,
            .to = name_of(errc::queue_full),
            .call = call.id});
    return decision::reject(errc::queue_full);
  }
  item x{call.id, 0, e.now, {}};
  if (call.deadline != never)
    x.deadline = deadlines_.push(call.deadline, {});
  auto h = items_.push_back(x);
  notes.start(h);
  if (waiting_++ == 0)
    first_ = h;
  counters_.add(counter::items);
  flush_due(e);
  return decision::hold();
}

decision batcher::settle(flight&, slot&, outcome& result, env&) {
  // The batch's place is given back by `batch_done`, not by its items.
  counters_.add(result.ok ? counter::items_succeeded : counter::items_failed);
  return decision::pass();
}

void batcher::abandon(flight& call, slot& notes, const outcome&, bool in_flight,
                      env& e) {
  if (in_flight) {
    // The rest of its batch goes on without it.
    counters_.add(counter::abandoned_in_flight);
    return;
  }
  auto h = notes.as<item_list::handle>();
  assert(items_[h].call == call.id);
  static_cast<void>(call); // Only asserted.
  counters_.add(counter::abandoned);
  if (items_[h].batch == 0)
    remove_waiting(h);
  else
    remove_launched(h, e);
}

void batcher::remove_waiting(item_list::handle h) {
  deadlines_.cancel(items_[h].deadline);
  if (h == first_)
    first_ = items_.next(h);
  items_.erase(h);
  --waiting_;
}

void batcher::remove_launched(item_list::handle h, env& e) {
  auto b = find(items_.erase(h).batch);
  if (--b->untaken > 0)
    return; // The host will take the others.
  counters_.add(counter::emptied);
  running_.erase(b);
  flush_due(e);
}

// -- metrics and commands -----------------------------------------------------

std::string_view batcher::state() const {
  if (draining_)
    return "draining";
  if (waiting_ == 0)
    return "idle";
  return blocked() ? "blocked" : "collecting";
}

void batcher::list_metrics(std::vector<metric>& out) const {
  static constexpr counters<counter>::names_type names{
    "items",
    "flushed_by_count",
    "flushed_by_delay",
    "flushed_by_deadline",
    "flushed_by_drain",
    "emptied",
    "rejected_full",
    "prefiltered",
    "abandoned",
    "abandoned_in_flight",
    "items_succeeded",
    "items_failed",
  };
  counters_.list(names, out);
  out.push_back({"waiting", static_cast<std::int64_t>(waiting_), true});
  out.push_back(
    {"outstanding", static_cast<std::int64_t>(running_.size()), true});
}

bool batcher::command(operator_command c, env&) {
  switch (c) {
    case operator_command::enable:
      return true; // A batcher has nothing that could be forced.
    case operator_command::reset:
      counters_.clear();
      return true;
    case operator_command::force_open:
    case operator_command::force_closed:
    case operator_command::disable:
    case operator_command::metrics_only:
      return false;
  }
  return false;
}

} // namespace caisson
