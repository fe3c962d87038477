#include <caisson/gate/detail/group_plan.hpp>

#include <caisson/settings/section.hpp>
#include <caisson/settings/settings.hpp>

#include <fmt/format.h>

#include <iterator>

namespace caisson::detail {

group_plan::group_plan(supervision_group_config c) : config_(c) {
  require_valid(config_);
}

// -- what members report ------------------------------------------------------

group_plan::member_id group_plan::join(std::uint32_t rank) {
  member_id id = members_.size();
  if (free_.empty()) {
    members_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  members_[id] = {rank, state::starting, 0};
  move_to(id, state::starting);
  if (over_)
    send_order(id, member_order::give_up, "the group has given up");
  return id;
}

void group_plan::on_down(member_id id, std::uint64_t after, time_point now,
                         const std::string& why) {
  // A member that was ordered to stop may have lost its worker already, for the
  // same reason.
  if (over_ || after != members_[id].orders)
    return;
  move_to(id, state::failing);
  ++losses_;
  if (!within_limit(now))
    return give_up("too many restarts in the group: " + why);
  stop_others(id, why);
}

void group_plan::on_due(member_id id) {
  if (members_[id].at != state::failing)
    return;
  move_to(id, state::due);
  if (config_.strategy == group_strategy::one_for_one)
    start(id);
  else
    start_next();
}

void group_plan::on_up(member_id id, std::uint64_t after) {
  if (after != members_[id].orders)
    return;
  move_to(id, state::up);
  start_next();
}

void group_plan::on_ended(member_id id, std::uint64_t after, bool restarts) {
  if (over_ || after != members_[id].orders)
    return;
  // The others wait for one that was to start, or for one that is lost.
  auto was_awaited = members_[id].at == state::starting;
  move_to(id, restarts ? state::ended : state::finished);
  if (was_awaited)
    start_next();
}

void group_plan::on_gave_up(const std::string& why) {
  if (!over_)
    give_up("a worker of the group was given up: " + why);
}

void group_plan::leave(member_id id) {
  move_to(id, state::gone);
  free_.push_back(id);
  if (members() == 0) {
    over_ = false;
    recent_.clear();
  }
  start_next();
}

// -- settings -----------------------------------------------------------------

void group_plan::reconfigure(const supervision_group_config& c) {
  config_ = c;
  if (config_.strategy == group_strategy::one_for_one)
    start_due();
}

// -- what they are to do ------------------------------------------------------

void group_plan::move_to(member_id id, state next) {
  members_[id].at = next;
  auto put = [at = place_of(id)](std::set<place>& where, bool in) {
    if (in)
      where.insert(at);
    else
      where.erase(at);
  };
  put(running_, next == state::up || next == state::starting);
  put(pending_,
      next == state::failing || next == state::due || next == state::starting);
  put(ended_, next == state::ended);
  put(finished_, next == state::finished);
}

void group_plan::send_order(member_id id, member_order what, std::string why) {
  orders_.push_back({id, what, ++members_[id].orders, std::move(why)});
}

// The last to start is the first to stop. One that has ended is among those
// that restart.
void group_plan::stop_others(member_id failed, const std::string& why) {
  if (config_.strategy == group_strategy::one_for_one)
    return;
  auto rank = members_[failed].rank;
  std::set<place> members;
  for (const auto* from : {&running_, &ended_})
    members.insert(config_.strategy == group_strategy::one_for_all
                     ? from->begin()
                     : from->upper_bound({rank, ~member_id{0}}),
                   from->end());
  for (auto i = members.rbegin(); i != members.rend(); ++i) {
    move_to(i->second, state::due);
    send_order(i->second, member_order::stop, why);
  }
}

// One after the other, so that each finds those up that it may depend on.
void group_plan::start_next() {
  if (config_.strategy == group_strategy::one_for_one || pending_.empty())
    return;
  auto first = pending_.begin()->second;
  if (members_[first].at == state::due)
    start(first);
}

void group_plan::start_due() {
  auto all = pending_;
  for (auto at : all)
    if (members_[at.second].at == state::due)
      start(at.second);
}

void group_plan::start(member_id id) {
  if (over_)
    return;
  move_to(id, state::starting);
  send_order(id, member_order::start, {});
}

// The limit of Erlang/OTP's supervisors, as for a single worker.
bool group_plan::within_limit(time_point now) {
  while (!recent_.empty() && time_until(now, recent_.front()) > config_.period)
    recent_.pop_front();
  if (recent_.size() >= config_.max_restarts)
    return false;
  recent_.push_back(now);
  return true;
}

void group_plan::give_up(const std::string& why) {
  over_ = true;
  auto all = running_;
  for (const auto* more : {&pending_, &ended_, &finished_})
    all.insert(more->begin(), more->end());
  for (auto i = all.rbegin(); i != all.rend(); ++i)
    send_order(i->second, member_order::give_up, why);
}

} // namespace caisson::detail
