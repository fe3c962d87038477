#include <caisson/policies/batcher/batcher.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/outcome.hpp>

#include <algorithm>
#include <utility>

namespace caisson {

namespace {

// As with permits, nothing weighs less than 1.
std::uint32_t weight_of(const call_info& call, const batch_item& x) {
  auto weight = x.weight.value_or(call.permits);
  return static_cast<std::uint32_t>(
    std::clamp<std::uint64_t>(weight, 1, heaviest_batch_item));
}

// Whether the worker has answered with an error for which one of the items may
// be to blame. It is not if the server is busy, is not there, or asks for time;
// nor if no handler knows such a message.
bool blames_items(const outcome& o) {
  if (o.ok || o.own_error || o.unanswered || o.out_of_time
      || o.retry_after != duration::zero())
    return false;
  if (o.kind == answer_class::unknown)
    return classifier::standard(o) == verdict::transient;
  return o.blames_request();
}

bool may_be_repeated(const std::vector<call_id>& calls, const env& e) {
  return std::all_of(calls.begin(), calls.end(), [&](call_id id) {
    return e.find(id)->idempotent != idempotence::no;
  });
}

} // namespace

// -- construction -------------------------------------------------------------

batcher::batcher(batcher_config c) : policy_base(std::move(c)) {}

// -- calls --------------------------------------------------------------------

decision batcher::admit(call_info& call, slot& notes, env& e) {
  static const batch_item undescribed;
  // Usual: there is no text to be moved.
  if (!described_) [[likely]]
    return take_in(call, undescribed, notes, e);
  return take_in_described(call, notes, e);
}

decision batcher::take_in_described(const call_info& call, slot& notes,
                                    env& e) {
  described_ = false;
  auto item = std::exchange(next_, {});
  return take_in(call, item, notes, e);
}

decision batcher::take_in(const call_info& call, const batch_item& item,
                          slot& notes, env& e) {
  // The host names the function that threw.
  if (item.failed)
    return decision::reject(errc::callback_failed);
  // Before the shard of this call may become due.
  forming_.queue_due(e.now);
  auto adds = adds_item(item);
  if (adds && config_.adaptive)
    rate_ = rates_.next(item.shard, e.now, config_.rate_window,
                        config_.max_shards);
  if (waiting_ >= config_.max_waiting)
    return refuse(counter::rejected_full, errc::queue_full, call.id, e);
  if (adds && blocked() && config_.when_blocked == blocked_items::reject)
    return refuse(counter::rejected_blocked, errc::queue_full, call.id, e);
  if (forming_.size() >= config_.max_shards && !make_room(item.shard, e))
    return refuse(counter::rejected_shards, errc::queue_full, call.id, e);
  auto h = forming_.at(item.shard);
  auto& batch = forming_[h];
  if (!adds)
    count(counter::equal_items);
  else if (config_.adaptive)
    batch.set_rate(rate_);
  auto at = batch.add(call, e.now, weight_of(call, item), item.identity);
  notes.start<call_state>({h, at});
  ++waiting_;
  count(counter::items);
  // Usual: a further item without a deadline does not change when the batch is
  // due. One that had become due stays in the queue.
  CAISSON_ENSURE(batch.items() <= waiting_,
                 "a batch of {} items, and {} calls wait", batch.items(),
                 waiting_);
  auto is_plain = !config_.adaptive && config_.max_weight == 0;
  if (!is_plain || batch.items() == 1 || call.deadline != never
      || batch.items() >= config_.max_items)
    note(h, e);
  // Usual: it waits for more, and nothing else is due.
  if (forming_.has_queued() && !blocked()) {
    flush_due(e);
    auto* now = forming_.find(h);
    if (!now || !now->contains(call.id, at))
      return decision::hold();
  }
  e.emit_wait(call.id, running_.size(), waiting_);
  return decision::hold();
}

// Whether the call is no equal of one that waits.
bool batcher::adds_item(const batch_item& x) const {
  if (x.identity.empty())
    return true;
  const auto* batch = forming_.of_shard(x.shard);
  return !batch || batch->is_new(x.identity);
}

// Returns whether a batch may be forming for that shard.
bool batcher::make_room(const std::string& shard, env& e) {
  if (forming_.contains(shard))
    return true;
  while (forming_.size() >= config_.max_shards) {
    if (blocked())
      return false;
    auto h = forming_.take_queued();
    if (h == forming_.none)
      h = forming_.take_earliest();
    CAISSON_ENSURE(h != forming_.none, "{} shards, and none is due",
                   forming_.size());
    launch(h, due(forming_[h], e.now).value_or(reason::shards), e);
    note(h, e);
  }
  return true;
}

decision batcher::complete(call_info& call, slot&, outcome& result, env&) {
  if (!launched_.empty())
    launched_.erase(call.id);
  // The batch's place is given back by `child_done`, not by its items.
  count(result.ok ? counter::items_succeeded : counter::items_failed);
  return decision::pass();
}

void batcher::abandon(call_info& call, slot& notes, const outcome&,
                      bool in_flight, env& e) {
  launched_.erase(call.id);
  if (in_flight) {
    // The rest of its batch goes on without it.
    count(counter::abandoned_in_flight);
    return;
  }
  count(counter::abandoned);
  auto [h, at] = notes.as<call_state>();
  auto* batch = forming_.find(h);
  if (!batch || !batch->remove(call.id, at))
    return; // Its batch has been named, and is about to start without it.
  CAISSON_ENSURE(waiting_ > 0, "one of {} calls that wait leaves", waiting_);
  --waiting_;
  note(h, e);
}

decision batcher::child_done(call_id batch, outcome& result, env& e) {
  // All of its items have left.
  if (!result.reply && result.is(errc::cancelled))
    count(counter::emptied);
  auto erased = std::erase(running_, batch);
  CAISSON_ENSURE(erased <= 1, "batch {} was in flight {} times", batch, erased);
  auto divided = end_batch(batch, result, e);
  flush_due(e);
  return divided ? decision::hold() : decision::pass();
}

// Returns whether its items stay held, to be sent in halves.
bool batcher::end_batch(call_id id, const outcome& result, env& e) {
  ended_ = {};
  auto found = tracked_batches_.extract(id);
  if (found.empty())
    return false;
  if (result.ok) {
    ended_ = {id, std::move(found.mapped().numbers)};
    return false;
  }
  return divide(found.mapped(), result, e);
}

bool batcher::divide(detail::sent_batch& batch, const outcome& result, env& e) {
  batch.keep_present(launched_);
  // Without the setting, the host does not keep what would be sent again.
  batch.levels = std::min(batch.levels, config_.split_failed);
  if (batch.levels == 0 || batch.calls.empty() || !blames_items(result)
      || (result.may_have_executed && !may_be_repeated(batch.calls, e)))
    return false;
  count(counter::batches_split);
  --batch.levels;
  // A single one is what is left of several: it may not be at fault.
  if (auto second = batch.split_off(); !second.calls.empty())
    halves_.push_back(std::move(second));
  halves_.push_back(std::move(batch));
  return true;
}

// -- content ------------------------------------------------------------------

const std::vector<std::uint32_t>& batcher::begin_batch(call_id batch) {
  static const std::vector<std::uint32_t> none;
  auto i = tracked_batches_.find(batch);
  if (i == tracked_batches_.end())
    return none;
  i->second.keep_present(launched_);
  if (i->second.items() == 1)
    i->second.levels = 0;
  return i->second.numbers;
}

std::vector<std::uint32_t> batcher::take_numbers(call_id batch) {
  auto [id, numbers] = std::exchange(ended_, {});
  if (id != batch)
    numbers.clear();
  return std::move(numbers);
}

// -- time ---------------------------------------------------------------------

time_point batcher::delay_due(const detail::forming_batch& x) const {
  return time_after(x.oldest(), target_delay(x));
}

time_point batcher::deadline_due(const detail::forming_batch& x) const {
  auto deadline = x.first_deadline();
  if (deadline == never)
    return never;
  // A deadline before the clock's first instant plus the margin is long past.
  if (deadline < time_point::min() + config_.deadline_margin)
    return time_point::min();
  return deadline - config_.deadline_margin;
}

std::optional<batcher::reason>
batcher::reason_at_any_time(const detail::forming_batch& x) const {
  if (x.items() >= target_items(x))
    return reason::count;
  if (config_.max_weight > 0 && x.weight() >= config_.max_weight)
    return reason::weight;
  if (draining_)
    return reason::drain;
  return std::nullopt;
}

std::optional<batcher::reason> batcher::due(const detail::forming_batch& x,
                                            time_point now) const {
  if (auto why = reason_at_any_time(x))
    return why;
  auto delay = delay_due(x);
  auto deadline = deadline_due(x);
  if (now < std::min(delay, deadline))
    return std::nullopt; // Not yet; `wakeup` says when.
  return deadline < delay ? reason::deadline : reason::delay;
}

time_point batcher::wakeup() const {
  // While as many batches as allowed are in flight, time changes nothing: the
  // next one is sent by `child_done`. While draining, items only wait for that.
  if (blocked())
    return never;
  // One that has become due as an item left it.
  return forming_.has_queued() ? time_point::min() : forming_.next_due();
}

void batcher::wake(env& e) {
  flush_due(e);
}

void batcher::note(handle h, const env& e) {
  const auto& x = forming_[h];
  auto due = time_point::min();
  if (!x.empty() && !reason_at_any_time(x))
    due = std::min(delay_due(x), deadline_due(x));
  forming_.note(h, due, e.now);
}

void batcher::note_all(const env& e) {
  forming_.queue_due(e.now);
  forming_.for_each([&](handle h) { note(h, e); });
}

void batcher::flush_due(env& e) {
  while (!halves_.empty() && !blocked())
    launch_half(e);
  forming_.queue_due(e.now);
  while (!blocked()) {
    auto h = forming_.take_queued();
    if (h == forming_.none)
      break;
    // The clock may have stepped back since it was queued.
    if (auto why = due(forming_[h], e.now))
      launch(h, *why, e);
    note(h, e);
  }
}

void batcher::launch(handle h, reason why, env& e) {
  auto& forming = forming_[h];
  auto n = forming.fitting(config_.max_items, config_.max_weight);
  if (why == reason::count && n < config_.max_items && n < forming.items())
    why = reason::weight;
  CAISSON_ENSURE(n > 0 && running_.size() < config_.max_outstanding,
                 "{} items, {} batches are in flight", n, running_.size());
  auto batch = forming.take(n);
  CAISSON_ENSURE(batch.calls.size() <= waiting_, "{} of {} calls are taken",
                 batch.calls.size(), waiting_);
  waiting_ -= batch.calls.size();
  batch.levels = config_.split_failed;
  batch.launch = ++launches_;
  send(std::move(batch), why, e);
}

void batcher::launch_half(env& e) {
  auto half = std::move(halves_.back());
  halves_.pop_back();
  half.levels = std::min(half.levels, config_.split_failed);
  half.keep_present(launched_);
  if (!half.calls.empty())
    send(std::move(half), reason::split, e);
}

void batcher::send(detail::sent_batch batch, reason why, env& e) {
  count(static_cast<counter>(why));
  e.emit({.kind = event_kind::flushed, .detail = text_of(why)});
  if (batch.items() == 1)
    batch.levels = 0;
  auto keep = batch.levels > 0 || !batch.numbers.empty();
  // However many items it has, a batch is one call.
  auto id = e.start_child(
    {.parents = keep ? batch.calls : std::move(batch.calls), .permits = 1});
  running_.push_back(id);
  if (keep) {
    for (auto call : batch.calls)
      launched_[call] = batch.launch;
    tracked_batches_.emplace(id, std::move(batch));
  }
  CAISSON_ENSURE(tracked_batches_.size() <= running_.size()
                   && running_.size() <= config_.max_outstanding,
                 "{} batches in flight, {} of them tracked", running_.size(),
                 tracked_batches_.size());
}

std::string_view batcher::text_of(reason why) noexcept {
  switch (why) {
    case reason::count:
      return "count";
    case reason::weight:
      return "weight";
    case reason::delay:
      return "delay";
    case reason::deadline:
      return "deadline";
    case reason::drain:
      return "drain";
    case reason::split:
      return "split";
    case reason::shards:
      return "shards";
  }
  return {};
}

// -- operation ----------------------------------------------------------------

std::string_view batcher::state() const {
  if (draining_)
    return "draining";
  auto waits = waiting_ > 0 || !halves_.empty();
  if (blocked() && (waits || config_.when_blocked == blocked_items::reject))
    return "blocked";
  return waits ? "collecting" : "idle";
}

void batcher::drain(env& e) {
  draining_ = true;
  note_all(e);
  flush_due(e);
}

void batcher::forget_rates() {
  rates_.clear();
  rate_ = std::nullopt;
  forming_.for_each([&](handle h) { forming_[h].set_rate(std::nullopt); });
}

void batcher::forget(env& e) {
  forget_rates();
  // The longest wait applies again.
  note_all(e);
}

void batcher::adapt(env& e) {
  // It would be old when it is wanted again.
  if (!config_.adaptive)
    forget_rates();
  note_all(e);
  flush_due(e);
}

void batcher::list_gauges(std::vector<metric>& out) const {
  out.push_back({"waiting", static_cast<std::int64_t>(waiting_), true});
  out.push_back(
    {"outstanding", static_cast<std::int64_t>(running_.size()), true});
  out.push_back({"shards", static_cast<std::int64_t>(forming_.size()), true});
  out.push_back({"halves", static_cast<std::int64_t>(halves_.size()), true});
  auto target = detail::target_of(config_, rate_);
  out.push_back(
    {"target_items", static_cast<std::int64_t>(target.items), true});
  using std::chrono::microseconds;
  out.push_back({"target_delay_us",
                 std::chrono::duration_cast<microseconds>(target.delay).count(),
                 true});
}

} // namespace caisson
