// Batches: calls that are sent as one.
#include <caisson/detail/gate_actor.hpp>

#include <algorithm>

namespace caisson::detail {

// -- batches ------------------------------------------------------------------

bool gate_actor::prefiltered(call_record& r, std::size_t k) {
  auto& l = *layers_[k].owner;
  auto* forms = l.forms();
  if (!forms || !forms->prefilter)
    return false;
  auto answer = forms->prefilter(r.payload);
  if (!answer)
    return false;
  l.as_batcher()->note_prefiltered();
  r.reply = std::move(*answer);
  ascend(r, static_cast<int>(k) - 1, outcome_of(r.reply));
  return true;
}

void gate_actor::launch_batch(std::size_t k, std::uint64_t number) {
  auto& l = *layers_[k].owner;
  auto ids = l.as_batcher()->take_batch(number);
  std::vector<caf::message> contents;
  contents.reserve(ids.size());
  auto& parent = calls_.take();
  parent.origin = static_cast<std::int8_t>(k);
  parent.batch = number;
  parent.arrived = env_.now;
  parent.deadline = time_point{};
  parent.idempotent = idempotence::yes;
  for (auto id : ids) {
    auto* item = calls_.find(id);
    if (!item)
      continue;
    item->where = phase::batched;
    item->hold_until = never;
    item->parent = parent.id;
    schedule(*item);
    parent.items.push_back(id);
    // The batch is pursued as long as one of its items can use the result.
    parent.deadline = std::max(parent.deadline, item->deadline);
    parent.priority = std::max(parent.priority, item->priority);
    parent.attempt = std::max(parent.attempt, item->attempt);
    if (item->idempotent != idempotence::yes
        && parent.idempotent != idempotence::no)
      parent.idempotent = item->idempotent;
    contents.push_back(resends_ ? item->payload : std::move(item->payload));
  }
  if (parent.items.empty())
    return land(parent, outcome::success());
  auto* forms = l.forms();
  parent.payload = forms->assemble
                     ? forms->assemble(std::move(contents))
                     : caf::make_message(batch{std::move(contents)});
  descend(parent, k + 1);
}

// The batch has its outcome: every item that still waits gets its own.
void gate_actor::land(call_record& parent, const outcome& o) {
  auto k = static_cast<std::size_t>(parent.origin);
  auto number = parent.batch;
  auto items = std::move(parent.items);
  auto parent_id = parent.id;
  auto touched = parent.touched;
  auto decider = parent.decider;
  auto whole = o.reply ? std::move(parent.reply) : caf::message{};
  auto result = o;
  timers_.cancel(parent.timer);
  calls_.put_back(parent);
  std::vector<caf::message> parts;
  bool same_for_all = !o.ok;
  auto* forms = layers_[k].owner->forms();
  // A batch that was emptied before it was sent has no answer to take apart.
  if (o.ok && forms->split && !items.empty())
    parts = forms->split(std::move(whole), items.size());
  else if (o.ok && rt::holds<batch_reply>(whole))
    parts = rt::take<batch_reply>(whole).results;
  else
    same_for_all = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto* item = calls_.find(items[i]);
    if (!item || item->where != phase::batched || item->parent != parent_id)
      continue; // Its deadline came first.
    item->where = phase::moving;
    item->touched = item->touched || touched;
    item->decider = same_for_all ? decider : static_cast<std::int8_t>(k);
    auto own = outcome::failure(errc::batch_failed, true);
    if (same_for_all && !result.reply) {
      own = result;
    } else if (same_for_all || i < parts.size()) {
      item->reply = same_for_all ? whole : std::move(parts[i]);
      own = outcome_of(item->reply);
    }
    ascend(*item, static_cast<int>(k), own);
  }
  env_.layer = k;
  layers_[k].owner->as_batcher()->batch_done(number, env_);
  turn_over(k);
}

} // namespace caisson::detail
