#include <caisson/config/detail/config_reloader.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/caf/error_text.hpp>
#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/gate/gate.hpp>
#include <caisson/stack/stack_replacement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson::detail {

namespace {

// How long a gate may take to answer. Its messages are handled in order, so one
// with a backlog answers late.
constexpr duration patience = std::chrono::seconds(30);

constexpr std::size_t most_waiting = 256;

// Of what is said about why a reload is wanted.
constexpr std::size_t longest_reason = 256;

std::string kind_of(const gate_entry& x) {
  return x.described ? x.described->kind() : std::string{};
}

// What cannot be changed at a gate that runs.
void compare(const std::string& name, const gate_entry& now,
             const gate_entry& next, problems& out) {
  auto path = setting_path{"gates"} / name;
  if (now.worker != next.worker || kind_of(now) != kind_of(next))
    out.push_back({problem_kind::relation, path / "worker",
                   fmt::format("the worker of a gate that runs stays {}\"{}\"; "
                               "give the gate another name",
                               now.described ? "of the kind " : "",
                               now.described ? kind_of(now) : now.worker),
                   next.worker_place});
  if (now.group != next.group || now.rank != next.rank)
    out.push_back({problem_kind::relation, path / "worker",
                   "a gate that runs keeps its group and rank; give the gate "
                   "another name",
                   next.worker_place});
  if (now.policies.policies.config().name
      != next.policies.policies.config().name)
    out.push_back({problem_kind::relation, path / "name",
                   fmt::format("a gate that runs keeps its name, \"{}\"",
                               now.policies.policies.config().name),
                   next.place});
}

std::string fixed_of(const gate_entry& x, std::size_t k) {
  return k < x.fixed.size() ? x.fixed[k] : std::string{};
}

// Whether a gate with `now` has the layer with other parts that cannot be
// changed at run time.
bool has_other_parts(const gate_entry& now, const std::string& layer,
                     const std::string& parts) {
  auto names = now.policies.policies.names();
  auto k = static_cast<std::size_t>(std::find(names.begin(), names.end(), layer)
                                    - names.begin());
  return k < names.size() && fixed_of(now, k) != parts;
}

// Whether `differs` holds for what the gate has, or may have.
template <class F>
bool may_differ(const managed_gate& gate, F differs) {
  return differs(gate.entry)
         || std::any_of(gate.unconfirmed.begin(), gate.unconfirmed.end(),
                        differs);
}

bool has_same_parts(const gate_entry& a, const gate_entry& b) {
  return (!a.described || a.described->equals(*b.described))
         && a.fixed == b.fixed
         && a.policies.policies.names() == b.policies.policies.names();
}

void add_unconfirmed(managed_gate& to, gate_entry x) {
  auto is_known = [&](const gate_entry& y) { return has_same_parts(x, y); };
  if (!is_known(to.entry) && std::ranges::none_of(to.unconfirmed, is_known))
    to.unconfirmed.push_back(std::move(x));
}

// Throws what the maker of another worker throws.
std::shared_ptr<const stack_replacement>
replacement_of(const managed_gate& gate, const gate_entry& next) {
  auto out = std::make_shared<stack_replacement>();
  out->policies = next.policies.policies;
  if (gate.supervised_by_file)
    out->supervision = next.policies.supervision;
  if (next.described && may_differ(gate, [&](const gate_entry& now) {
        return !next.described->equals(*now.described);
      })) {
    out->new_worker = std::make_shared<worker>(
      next.described->make(next.policies.supervision));
    out->worker_changes = next.described->changes_from(*gate.entry.described);
    if (out->worker_changes.empty())
      out->worker_changes = "made again, as it is not known which one it is";
  }
  auto names = next.policies.policies.names();
  for (std::size_t i = 0; i < names.size(); ++i)
    out->afresh.push_back(may_differ(gate, [&](const gate_entry& now) {
      return has_other_parts(now, names[i], fixed_of(next, i));
    }));
  return out;
}

} // namespace

config_reloader::config_reloader(caf::actor_config& cfg, parts x)
  : caf::event_based_actor(cfg), file_(std::move(x.file)),
    known_(std::move(x.known)), directory_(std::move(x.directory)),
    gates_(std::move(x.gates)), groups_(std::move(x.groups)) {}

caf::behavior config_reloader::make_behavior() {
  return {
    [this](const reload& x) { return take(x); },
    [this](const subscribe&) { return add_subscriber(); },
    [this](const unsubscribe&) {
      std::erase(subscribers_, caf::actor_cast<caf::actor>(current_sender()));
    },
  };
}

void config_reloader::on_exit() {
  reload_report ended;
  ended.problems = {"the gates have ended"};
  if (round_) {
    for (auto& x : round_->waiting)
      x.deliver(ended);
    for (const auto& [name, x] : round_->fresh)
      stop_gate(x.handle);
  }
  for (auto& x : queue_)
    x.deliver(ended);
  for (const auto& [name, x] : gates_)
    stop_gate(x.handle);
  for (const auto& [number, x] : leaving_)
    stop_gate(x);
  directory_->assign({}, {});
  round_.reset();
  queue_.clear();
  gates_.clear();
  groups_.clear();
  leaving_.clear();
  subscribers_.clear();
  self_ = nullptr;
  caf::event_based_actor::on_exit();
}

// -- a reload, from its beginning ---------------------------------------------

config_reloader::promise config_reloader::take(const reload& x) {
  // The promise takes the sender with it.
  const auto has_sender = current_sender() != nullptr;
  auto result = make_response_promise<reload_report>();
  if (has_sender && queue_.size() >= most_waiting) {
    reload_report full;
    full.problems = {fmt::format(
      "too many pending reloads (max {}); retry later", most_waiting)};
    result.deliver(std::move(full));
    return result;
  }
  if (has_sender)
    queue_.push_back(result);
  if (!queued_)
    queued_ = x.why.substr(0, longest_reason);
  if (!round_)
    begin();
  return result;
}

void config_reloader::begin() {
  self_ = caf::strong_actor_ptr{ctrl()};
  round_ = round{};
  round_->why = std::move(*queued_);
  round_->waiting = std::exchange(queue_, {});
  queued_.reset();
  problems found;
  round_->next = read_gate_file(file_, known_, found, system());
  for (const auto& [name, x] : round_->next.gates)
    if (auto i = gates_.find(name);
        i != gates_.end() && !portable::is_down(i->second.handle))
      compare(name, i->second.entry, x, found);
  if (found.empty())
    make_replacements(found);
  if (found.empty())
    check_gates();
  else
    refuse(found);
}

void config_reloader::make_replacements(problems& found) {
  for (const auto& [name, x] : round_->next.gates) {
    auto i = gates_.find(name);
    if (i == gates_.end() || portable::is_down(i->second.handle))
      continue;
    try_for(name, x, found, [&, &gate = name, &next = x] {
      round_->replacements.emplace(gate, replacement_of(i->second, next));
    });
  }
}

bool config_reloader::goes_on(const std::string& gate) const {
  auto i = gates_.find(gate);
  return i != gates_.end() && round_->next.gates.contains(gate)
         && !round_->ended.contains(gate);
}

void config_reloader::check_gates() {
  for (const auto& [name, x] : gates_) {
    if (portable::is_down(x.handle))
      round_->ended.insert(name);
    if (!goes_on(name))
      continue;
    ++round_->open;
    portable::ask(this, static_cast<const caf::actor&>(x.handle), patience,
                  replace_stack{round_->replacements.at(name), true})
      .then(
        [this, gate = name](const std::string&) { on_checked(gate, nullptr); },
        [this, gate = name](const caf::error& why) { on_checked(gate, &why); });
  }
  if (round_->open == 0)
    make_new_gates();
}

void config_reloader::on_checked(const std::string& gate,
                                 const caf::error* why) {
  if (why && portable::is_down(gates_.find(gate)->second.handle))
    round_->ended.insert(gate);
  else if (why)
    round_->report.problems.push_back(
      fmt::format("{}: gates.{}: {}", file_.string(), gate, text_of(*why)));
  if (--round_->open > 0)
    return;
  auto& found = round_->report.problems;
  std::sort(found.begin(), found.end());
  if (found.empty())
    make_new_gates();
  else
    finish();
}

void config_reloader::make_new_gates() {
  std::erase_if(groups_,
                [](auto& x) { return portable::is_down(x.second.handle()); });
  round_->fresh_groups = spawn_missing_groups(system(), round_->next, groups_);
  auto groups = round_->fresh_groups;
  groups.insert(groups_.begin(), groups_.end());
  auto names = by_rank(round_->next);
  std::erase_if(names, [this](auto& name) { return goes_on(name); });
  problems found;
  auto workers = make_workers(system(), round_->next, names, known_, groups,
                              found);
  if (found.empty())
    round_->fresh = spawn_managed(system(), round_->next, names,
                                  std::move(workers), found);
  if (found.empty())
    swap_gates();
  else
    refuse(found);
}

// -- from here on the file is not refused -------------------------------------

void config_reloader::swap_gates() {
  for (const auto& [name, x] : gates_) {
    if (!goes_on(name))
      continue;
    ++round_->open;
    portable::ask(this, static_cast<const caf::actor&>(x.handle), patience,
                  replace_stack{round_->replacements.at(name)})
      .then([this, gate = name](
              const std::string& text) { on_swapped(gate, changes_in(text)); },
            [this, gate = name](const caf::error& why) {
              on_unchanged(gate, why);
            });
  }
  change_groups();
  if (round_->open == 0)
    finish_swap();
}

void config_reloader::change_groups() {
  for (const auto& [name, x] : groups_) {
    if (!round_->next.groups.contains(name))
      continue;
    ++round_->open;
    portable::ask(this, x.handle(), patience, get_status{})
      .then(
        [this, group = name](const status& now) { change_group(group, now); },
        [this, group = name](const caf::error& why) { on_group(group, &why); });
  }
}

// It may have been changed since by others: the file wins.
void config_reloader::change_group(const std::string& group,
                                   const status& now) {
  const auto& next = round_->next.groups.find(group)->second;
  auto what = changes_of(now, next);
  if (what.empty())
    return on_group(group, nullptr);
  round_->report.changes.push_back(group_change(group, what));
  portable::ask(this, groups_.find(group)->second.handle(), patience,
                message_of(next))
    .then([this, group] { on_group(group, nullptr); },
          [this, group](const caf::error& why) { on_group(group, &why); });
}

void config_reloader::on_group(const std::string& group,
                               const caf::error* why) {
  if (why)
    round_->report.problems.push_back(fmt::format(
      "{}: groups.{}: not changed: {}", file_.string(), group, text_of(*why)));
  if (--round_->open == 0)
    finish_swap();
}

void config_reloader::on_swapped(const std::string& gate,
                                 std::vector<layer_change> changes) {
  for (auto& x : changes)
    round_->report.changes.push_back(
      {gate, std::move(x.layer), std::move(x.what)});
  if (--round_->open == 0)
    finish_swap();
}

// It answers too late, or a layer of the user's has thrown. The next reload
// compares with what it had before, and with what it may have by now.
void config_reloader::on_unchanged(const std::string& gate,
                                   const caf::error& why) {
  round_->unchanged.insert(gate);
  if (why == caf::sec::request_timeout
      || round_->replacements.at(gate)->new_worker)
    round_->unconfirmed.insert(gate);
  round_->report.problems.push_back(fmt::format(
    "{}: gates.{}: not changed: {}", file_.string(), gate, text_of(why)));
  if (--round_->open == 0)
    finish_swap();
}

void config_reloader::finish_swap() {
  for (auto i = gates_.begin(); i != gates_.end();) {
    auto& [name, x] = *i;
    if (goes_on(name)) {
      auto& next = round_->next.gates.find(name)->second;
      if (round_->unchanged.contains(name)) {
        if (round_->unconfirmed.contains(name))
          add_unconfirmed(x, std::move(next));
      } else {
        x.entry = std::move(next);
        x.unconfirmed.clear();
      }
      ++i;
      continue;
    }
    if (!round_->next.gates.contains(name))
      round_->report.changes.push_back({name, {}, "removed"});
    if (!round_->ended.contains(name))
      let_go(std::move(x.handle));
    i = gates_.erase(i);
  }
  for (auto& [name, x] : std::exchange(round_->fresh, {})) {
    round_->report.changes.push_back(
      {name, {}, round_->ended.contains(name) ? "started again" : "added"});
    gates_.emplace(name, std::move(x));
  }
  finish_groups();
  publish();
  finish();
}

// A group that is gone goes on in gates that finish what they have.
void config_reloader::finish_groups() {
  for (const auto& [name, x] : round_->fresh_groups)
    round_->report.changes.push_back(group_change(name, "added"));
  for (auto i = groups_.begin(); i != groups_.end();) {
    if (round_->next.groups.contains(i->first)) {
      ++i;
      continue;
    }
    round_->report.changes.push_back(group_change(i->first, "removed"));
    i = groups_.erase(i);
  }
  groups_.merge(std::exchange(round_->fresh_groups, {}));
}

// It finishes what it has.
void config_reloader::let_go(control_handle handle) {
  snapshot_hub::of(system())->set_leaving(handle);
  auto number = ++left_;
  auto stop = [this, number] {
    if (auto i = leaving_.find(number); i != leaving_.end()) {
      stop_gate(i->second);
      leaving_.erase(i);
    }
  };
  portable::ask(this, static_cast<const caf::actor&>(handle),
                portable::no_timeout, drain{})
    .then([stop] { stop(); }, [stop](const caf::error&) { stop(); });
  leaving_.emplace(number, std::move(handle));
}

void config_reloader::publish() {
  gate_directory::handles all;
  for (const auto& [name, x] : gates_)
    all.emplace(name, x.handle);
  directory_->assign(std::move(all), groups_);
}

// -- the end ------------------------------------------------------------------

std::string config_reloader::text_of(const caf::error& why) const {
  auto* context = context_of(why);
  return context && !context->text.empty() ? context->text
                                           : portable::to_text(system(), why);
}

void config_reloader::refuse(const problems& found) {
  for (const auto& x : found) {
    if (round_->report.problems.size() == most_listed_problems) {
      round_->report.problems.push_back(
        fmt::format("{} problems in all", found.size()));
      break;
    }
    round_->report.problems.push_back(to_text(x));
  }
  finish();
}

void config_reloader::finish() {
  auto ended = std::move(*round_);
  // Gates answer in any order.
  auto& changes = ended.report.changes;
  std::stable_sort(changes.begin(), changes.end(),
                   [](auto& a, auto& b) { return a.gate < b.gate; });
  for (const auto& x : changes)
    notify(x, ended.why);
  for (const auto& x : ended.report.problems)
    notify({{}, {}, x}, "refused");
  for (auto& x : ended.waiting)
    x.deliver(ended.report);
  round_.reset();
  if (queued_)
    begin();
  else
    self_ = nullptr;
}

// -- subscribers --------------------------------------------------------------

// Nobody is watched: those that have ended are dropped when there is news.
caf::result<void> config_reloader::add_subscriber() {
  auto from = caf::actor_cast<caf::actor>(current_sender());
  std::erase_if(subscribers_, [](auto& x) { return portable::is_down(x); });
  if (!from
      || std::find(subscribers_.begin(), subscribers_.end(), from)
           != subscribers_.end())
    return caf::unit;
  if (subscribers_.size() >= max_subscribers)
    return make_error(
      errc::invalid_config,
      rejection{"gate_set", duration::zero(), false,
                fmt::format("too many subscribers (max {})", max_subscribers)});
  subscribers_.push_back(std::move(from));
  return caf::unit;
}

void config_reloader::notify(const gate_change& x, const std::string& to) {
  event out;
  out.number = ++events_;
  out.time_ns = clock().now().time_since_epoch().count();
  out.gate = x.gate;
  out.layer = x.layer;
  out.kind = event_kind::reconfigured;
  out.to = to;
  out.detail = x.what;
  std::erase_if(subscribers_, [](auto& s) { return portable::is_down(s); });
  auto msg = caf::make_message(out);
  for (const auto& s : subscribers_)
    portable::post(this, s, msg);
}

} // namespace caisson::detail
