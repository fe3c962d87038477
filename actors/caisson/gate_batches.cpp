// Batches: calls that are sent as one.
#include <caisson/detail/gate_actor.hpp>

#include <caisson/callback.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

// -- on the way down ----------------------------------------------------------

bool gate_actor::prefiltered(call_record& r, std::size_t k) {
  auto& l = *layers_[k].owner;
  auto* forms = l.forms();
  if (!forms || !forms->prefilter)
    return false;
  env_.layer = k;
  env_.failure.reset();
  auto answer = call_user(
    "prefilter", [&] { return forms->prefilter(r.payload); }, env_);
  if (!answer) {
    auto what = *env_.failure;
    ascend(r, static_cast<int>(k) - 1, failed_callback(r, k, what));
    return true;
  }
  if (!*answer)
    return false;
  l.as_batcher()->note_prefiltered();
  r.reply = std::move(**answer);
  auto o = outcome_of(r.reply);
  o.reached = o.from_worker = false;
  ascend(r, static_cast<int>(k) - 1, o);
  return true;
}

void gate_actor::launch_batch(std::size_t k, std::uint64_t number) {
  auto& l = *layers_[k].owner;
  std::vector<caf::message> contents;
  auto& parent = calls_.take();
  parent.origin = static_cast<std::int8_t>(k);
  parent.batch = number;
  parent.arrived = env_.now;
  parent.deadline = time_point::min();
  parent.idempotent = idempotence::yes;
  for (auto id : l.as_batcher()->take_batch(number)) {
    auto* item = calls_.find(id);
    if (!item)
      continue;
    // The batcher has let go of it.
    calls_.move_to(*item, phase::moving);
    item->hold_until = never;
    if (!overdue(*item))
      add_item(parent, *item, contents);
  }
  if (parent.items.empty())
    return unpack(parent, outcome::success());
  env_.layer = k;
  env_.failure.reset();
  auto* forms = l.forms();
  if (!forms->assemble)
    parent.payload = caf::make_message(batch{std::move(contents)});
  else if (!call_user(
             "assemble",
             [&] { parent.payload = forms->assemble(std::move(contents)); },
             env_)) {
    auto what = *env_.failure;
    return unpack(parent, failed_callback(parent, k, what));
  }
  descend(parent, k + 1);
}

void gate_actor::add_item(call_record& parent, call_record& item,
                          std::vector<caf::message>& contents) {
  calls_.move_to(item, phase::batched);
  item.parent = parent.id;
  schedule(item);
  parent.items.push_back(item.id);
  ++parent.waiting_items;
  // The batch is pursued as long as one of its items can use the result.
  parent.deadline = std::max(parent.deadline, item.deadline);
  parent.priority = std::max(parent.priority, item.priority);
  parent.attempt = std::max(parent.attempt, item.attempt);
  if (item.idempotent != idempotence::yes
      && parent.idempotent != idempotence::no)
    parent.idempotent = item.idempotent;
  // An item that goes round in circles has the longest path sooner or later.
  if (item.path.size() > parent.path.size())
    parent.path = item.path;
  contents.push_back(resends_ ? item.payload : std::move(item.payload));
}

// An item was taken back. A batch without any is of no use.
void gate_actor::item_left(call_id id) {
  auto* parent = calls_.find(id);
  if (!parent || --parent->waiting_items > 0)
    return;
  // The deadline of its last item is its own.
  if (overdue(*parent))
    return;
  auto o = outcome::failure(errc::cancelled, false);
  cut(*parent, -1, o);
  parent->decider = -1;
  unpack(*parent, o);
}

// -- on the way up ------------------------------------------------------------

// Takes the worker's answer apart; nothing if it is the same for all items.
std::optional<std::vector<caf::message>>
gate_actor::split(std::size_t k, caf::message& whole, std::size_t n) {
  auto* forms = layers_[k].owner->forms();
  // A batch that was emptied before it was sent has no answer to take apart.
  if (n == 0)
    return std::nullopt;
  if (!forms->split) {
    if (!rt::holds<batch_reply>(whole))
      return std::nullopt;
    return rt::take<batch_reply>(whole).results;
  }
  auto parts = call_user(
    "split", [&] { return forms->split(std::move(whole), n); }, env_);
  return parts ? std::move(parts) : std::vector<caf::message>{};
}

// The batch has its outcome: every item that still waits gets its own.
void gate_actor::unpack(call_record& parent, const outcome& o) {
  auto k = static_cast<std::size_t>(parent.origin);
  auto number = parent.batch;
  auto items = std::move(parent.items);
  auto parent_id = parent.id;
  auto sent = reached(parent);
  auto decider = parent.decider;
  auto whole = o.reply ? std::move(parent.reply) : caf::message{};
  auto result = o;
  timers_.cancel(parent.timer);
  calls_.put_back(parent);
  env_.layer = k;
  env_.failure.reset();
  auto parts = o.ok ? split(k, whole, items.size()) : std::nullopt;
  auto failure = std::exchange(env_.failure, std::nullopt);
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto* item = calls_.find(items[i]);
    if (!item || item->where != phase::batched || item->parent != parent_id)
      continue; // It was taken back.
    calls_.move_to(*item, phase::moving);
    if (sent)
      set_reached(*item);
    item->decider = parts ? static_cast<std::int8_t>(k) : decider;
    auto own = outcome::failure(errc::batch_failed, true);
    if (failure) {
      own = failed_callback(*item, k, *failure);
    } else if (!parts && !result.reply) {
      own = result;
    } else if (!parts || i < parts->size()) {
      item->reply = parts ? std::move((*parts)[i]) : whole;
      own = outcome_of(item->reply);
      // A part of an answer is a worker's; a whole one is what it was to the
      // batch.
      own.reached = parts.has_value() || result.reached;
      own.from_worker = parts.has_value() || result.from_worker;
    }
    ascend(*item, static_cast<int>(k), own);
  }
  env_.layer = k;
  layers_[k].owner->as_batcher()->batch_done(number, env_);
  turn_over(k);
}

} // namespace caisson::detail
