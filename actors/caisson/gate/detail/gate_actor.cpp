#include <caisson/gate/detail/gate_actor.hpp>

#include <caisson/base/entropy.hpp>
#include <caisson/caf/caf_log.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/caf/error_text.hpp>
#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/gate/detail/factory.hpp>
#include <caisson/policy/callback.hpp>
#include <caisson/stack/stack_replacement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace caisson::detail {

namespace {

std::uint64_t seed_for(const gate_actor& gate, std::int64_t seed) {
  if (seed != 0)
    return mix_seed(static_cast<std::uint64_t>(seed));
  // Two gates of one fleet must not jitter in step; two runs in virtual time
  // must not differ.
  if (portable::is_virtual(gate.home_system()))
    return mix_seed(gate.id());
  return entropy_bits();
}

engine_setup setup_of(const gate_actor& gate, const worker& w,
                      const stack& policies) {
  engine_setup s;
  s.config = policies.config();
  s.layers = policies.build();
  for (auto& x : s.layers)
    x->start_in(gate.home_system());
  s.supervision = w.supervision();
  s.grouped = w.is_grouped();
  s.adapter = w.adapter();
  s.dead_letters = w.dead_letters();
  s.seed = seed_for(gate, s.config.seed);
  s.exact_timers = portable::is_virtual(gate.home_system());
  // Independent of the other seed: permits must not follow from that one.
  if (s.exact_timers)
    s.secret_seed = mix_seed(~gate.id());
  s.path_key = mix_seed(category_hash(to_string(gate.node())) ^ gate.id());
  return s;
}

// Names an actor in the engine, for which an actor is a number.
template <class T>
std::uint64_t key_of(const T& x) {
  return reinterpret_cast<std::uintptr_t>(portable::identity_of(x));
}

} // namespace

bool is_local_gate(const caf::actor& x) {
  if (!x)
    return false;
  auto actor = behind_call_handle(x);
  auto* found = caf::actor_cast<caf::abstract_actor*>(actor);
  return dynamic_cast<gate_actor*>(found) != nullptr;
}

gate_actor::gate_actor(caf::actor_config& cfg, worker w, const stack& policies)
  : gate_base(cfg), name_(policies.config().name), worker_(std::move(w)),
    engine_(*this, setup_of(*this, worker_, policies)) {
  targets_.emplace_back();
  for (auto& x : engine_.targets()) {
    engine_.add_target(info_of_target(x, system()));
    targets_.push_back(std::move(x));
  }
}

caf::behavior gate_actor::make_behavior() {
  auto result = gate_base::make_behavior();
  engine_.publish_to(
    snapshot_hub::of(home_system())->join(name_, caf::weak_actor_ptr{ctrl()}));
  for (const auto& x : targets_)
    if (x)
      watch_for(x);
  if (worker_.is_grouped()) {
    watch_for(worker_.group().handle());
    send_to_group(member_state::joined, {});
  }
  if (worker_.factory())
    engine_.start_supervised(now());
  else if (worker_.handle())
    engine_.start_with(*use_worker(worker_.handle()).info, now());
  else if (worker_.is_existing_actor())
    engine_.start_down(now());
  else
    engine_.start(now());
  return result;
}

void gate_actor::on_exit() {
  stopped_ = true;
  engine_.stop();
  if (worker_.factory())
    end_worker(system(), targets_[worker_target], engine_.shutdown_time());
  for (auto x : earlier_workers_)
    end_worker(system(), targets_[x], engine_.shutdown_time());
  end_worker(system(), replaced_, engine_.shutdown_time());
  for (const auto& [key, x] : watched_)
    unwatch(x.actor);
  watched_.clear();
  // Handles can form circles.
  worker_ = worker{};
  targets_.clear();
  replaced_ = nullptr;
  callers_.clear();
  subscribers_.clear();
  self_ = nullptr;
  gate_base::on_exit();
}

// -- what comes in ------------------------------------------------------------

reply_slot gate_actor::slot_of(portable::reply_to from) const {
  auto reply_expected = from.expects_reply();
  auto urgent = from.urgent();
  auto caller = key_of(from.sender());
  auto number = from.number();
  auto remote = portable::is_remote(system(), from.sender());
  reply_slot r{std::move(from), reply_expected, urgent, caller, number};
  if (remote)
    r.mark_remote();
  return r;
}

void gate_actor::on_message(portable::reply_to from, caf::message&& content) {
  auto slot = slot_of(std::move(from));
  switch (envelope_(content)) {
    case envelope::at<call>():
      return engine_.on_call(std::move(slot), portable::take<call>(content),
                             now());
    case envelope::at<acquire>():
      return engine_.on_acquire(std::move(slot), content.get_as<acquire>(0),
                                now());
    case envelope::at<release>():
      return engine_.on_release(std::move(slot), content.get_as<release>(0),
                                now());
    case envelope::at<renew>():
      return engine_.on_renew(std::move(slot), content.get_as<renew>(0), now());
    case envelope::at<drain>():
      return engine_.on_drain(std::move(slot), now());
    default:
      engine_.on_call(std::move(slot), std::move(content), now());
  }
}

void gate_actor::on_answer(std::uint64_t key, caf::message&& content) {
  engine_.on_answer(key, std::move(content), now());
}

void gate_actor::on_timer() {
  engine_.on_timer(now());
}

void gate_actor::on_echo() {
  engine_.on_probe(now());
}

void gate_actor::on_down(const caf::actor_addr& actor, const caf::error& why) {
  if (stopped_)
    return;
  auto key = key_of(actor);
  watched_.erase(key);
  // How it has ended is asked of itself: any actor may send such a message.
  for (target_id x = 0; x < targets_.size(); ++x)
    if (targets_[x] && key_of(targets_[x]) == key)
      engine_.on_target_down(
        x, end_of(x), why ? portable::to_text(system(), why) : "it has quit",
        now());
  if (worker_.is_grouped() && key_of(worker_.group().handle()) == key)
    engine_.on_group_down(now());
  if (callers_.erase(key) > 0)
    engine_.on_caller_down(key, now());
  std::erase_if(subscribers_, [&](const auto& x) { return x.key == key; });
}

caf::message_handler gate_actor::control() {
  return caf::message_handler{
    [this](const get_status&) { return make_status(); },
    [this](const reconfigure& x) -> caf::result<status> {
      if (auto err = engine_.on_reconfigure(x, now()); err != caf::none)
        return err;
      return make_status();
    },
    [this](const command& x) -> caf::result<status> {
      if (auto err = engine_.on_command(x, now()); err != caf::none)
        return err;
      return make_status();
    },
    [this](const subscribe&) { return add_subscriber(); },
    [this](const unsubscribe&) { remove_subscriber(); },
    [this](const cancelled& x) {
      engine_.on_cancelled(key_of(current_sender()), x.number, now());
    },
    [this](worker_made& x) { return take_new_worker(x); },
    [this](const group_order& x) { take_order(x); },
    [this](const replace_stack& x) { return take_stack(x); },
  };
}

caf::result<status> gate_actor::make_status() {
  auto s = engine_.make_status(now());
  if (auto err = engine_.failure(); err != caf::none)
    return err;
  s.metrics["subscribers"] = static_cast<std::int64_t>(subscribers_.size());
  return s;
}

// -- what goes out ------------------------------------------------------------

std::uint64_t gate_actor::deliver(target_id to, std::uint64_t key,
                                  caf::message&& content, bool urgent) {
  forward(targets_[to], key, std::move(content), urgent);
  return call_number(key);
}

void gate_actor::send_cancelled(target_id to, std::uint64_t number) {
  if (targets_[to])
    send_from_return_address(targets_[to],
                             caf::make_message(cancelled{number}));
}

void gate_actor::answer(reply_slot to, caf::message&& content) {
  to.as<portable::reply_to>().answer(this, std::move(content));
}

// Without a sender: what the receiver answers is no call of this gate.
void gate_actor::send_dead_letter(dead_letter&& x) {
  portable::send_anon(worker_.dead_letter_receiver(), std::move(x));
}

void gate_actor::emit(const event& what) {
  auto msg = caf::make_message(what);
  for (const auto& to : subscribers_)
    portable::post(this, to.handle, msg);
}

void gate_actor::worker_given_up(const std::string& why) {
  quit(make_error(errc::worker_down, rejection{name_, duration::zero(), false,
                                               "too many restarts: " + why}));
}

// Links and monitors are notified, and who supervises the gate makes another
// one.
void gate_actor::engine_failed(const caf::error& why) {
  portable::write_to_caf_log(system(), portable::log_level::error,
                             to_text(why));
  quit(why);
}

bool gate_actor::send_probe() {
  send_echo();
  return true;
}

void gate_actor::hold_open(bool busy) {
  self_ = busy ? caf::strong_actor_ptr{ctrl()} : nullptr;
}

// -- the worker ---------------------------------------------------------------

made_worker gate_actor::use_worker(caf::actor handle) {
  auto info = info_of_worker(worker_, handle, system());
  watch_for(handle);
  replaced_ = std::exchange(targets_[worker_target], std::move(handle));
  return {info, {}};
}

std::optional<made_worker> gate_actor::make_worker(std::uint32_t incarnation) {
  if (worker_.runs_on_own_thread()) {
    maker_ = run_factory_apart(worker_.factory(), engine_.shutdown_time(),
                               system(), caf::weak_actor_ptr{ctrl()},
                               incarnation);
    return std::nullopt;
  }
  auto [handle, failure] = run_factory(worker_.factory(), system());
  if (!handle)
    return made_worker{{}, failure};
  return use_worker(std::move(handle));
}

// Returns whether the gate wants the worker. Only the helper that was asked for
// it can deliver one.
bool gate_actor::take_new_worker(worker_made& x) {
  if (!maker_ || caf::actor_cast<caf::actor_addr>(current_sender()) != maker_
      || !engine_.awaits_worker(x.incarnation))
    return false;
  // What is due by now goes to the worker that is there.
  const auto at = now();
  engine_.on_timer(at);
  if (!engine_.awaits_worker(x.incarnation))
    return false;
  maker_ = nullptr;
  auto result = x.handle ? use_worker(std::move(x.handle))
                         : made_worker{{}, x.failure};
  engine_.on_worker_made(result, at);
  return true;
}

void gate_actor::stop_worker() {
  end_worker(system(), targets_[worker_target], engine_.shutdown_time());
  forget_worker();
}

void gate_actor::forget_worker() {
  unwatch_for(targets_[worker_target].address());
  targets_[worker_target] = nullptr;
}

bool gate_actor::is_down(target_id x) const {
  return !targets_[x] || portable::is_down(targets_[x]);
}

actor_end gate_actor::end_of(target_id x) const {
  return end_of_actor(targets_[x]);
}

// -- other stacks -------------------------------------------------------------

target_info gate_actor::add_target(target_id x, const caf::actor& handle) {
  if (x >= targets_.size())
    targets_.resize(x + 1);
  targets_[x] = handle;
  if (handle)
    watch_for(handle);
  return info_of_target(handle, system());
}

void gate_actor::drop_target(target_id x) {
  if (targets_[x])
    unwatch_for(targets_[x].address());
  targets_[x] = nullptr;
}

caf::result<std::string> gate_actor::take_stack(const replace_stack& x) {
  if (!x.what)
    return refuse_stack("the stack is missing");
  std::string problem;
  // Making layers runs constructors of the user's, which may throw.
  auto result = try_user([&] { return follow(x); },
                         [&](std::string_view why) { problem = why; });
  return result ? std::move(*result) : refuse_stack(std::move(problem));
}

caf::error gate_actor::refuse_stack(std::string why) const {
  return make_error(errc::invalid_config,
                    rejection{name_, duration::zero(), false, std::move(why)});
}

caf::result<std::string> gate_actor::follow(const replace_stack& x) {
  auto next = next_stack_of(*x.what);
  if (const auto* other = x.what->new_worker.get()) {
    if (!other->factory() || !worker_.factory())
      return refuse_stack("only a worker that the gate makes can be replaced");
    next.worker = next_worker{other->adapter(), other->dead_letters(),
                              x.what->worker_changes};
  }
  if (auto why = engine_.problem_with(next); !why.empty())
    return refuse_stack(std::move(why));
  if (x.check_only)
    return std::string{};
  auto changes = put_in_force(*x.what, std::move(next));
  if (auto err = engine_.failure(); err != caf::none)
    return err;
  return text_of(changes);
}

// It makes its workers as the new one says before the engine asks for one.
std::vector<layer_change> gate_actor::put_in_force(const stack_replacement& x,
                                                   next_stack&& next) {
  const auto at = now();
  if (!x.new_worker)
    return engine_.on_new_stack(std::move(next), at);
  // What is due by now concerns the worker that is there.
  engine_.on_timer(at);
  auto other = *x.new_worker;
  // It stays in the group that it has.
  if (worker_.is_grouped())
    other = std::move(other).in_group(worker_.group(), worker_.rank());
  std::swap(other, worker_);
  try {
    return engine_.on_new_stack(std::move(next), at);
  } catch (...) {
    std::swap(other, worker_);
    throw;
  }
}

void gate_actor::retire_worker(target_id x) {
  if (x >= targets_.size())
    targets_.resize(x + 1);
  targets_[x] = std::move(replaced_);
  replaced_ = nullptr;
  earlier_workers_.push_back(x);
}

void gate_actor::end_target(target_id x) {
  std::erase(earlier_workers_, x);
  // A factory may give the same one again.
  if (targets_[x] != targets_[worker_target])
    end_worker(system(), targets_[x], engine_.shutdown_time());
  drop_target(x);
}

// -- its group ----------------------------------------------------------------

void gate_actor::send_to_group(member_state what, const std::string& why) {
  portable::send(this, worker_.group().handle(),
                 member_report{what, worker_.rank(), last_order_, why});
}

// Only its group can give it orders.
void gate_actor::take_order(const group_order& x) {
  if (!worker_.is_grouped() || current_sender() != worker_.group().handle())
    return;
  last_order_ = x.number;
  engine_.on_group_order(x.what, x.why, now());
}

// -- who is watched -----------------------------------------------------------

void gate_actor::watch_caller(const reply_slot& slot) {
  const auto& from = slot.as<portable::reply_to>().sender();
  callers_[slot.caller()] = caf::actor_cast<caf::actor_addr>(from);
  watch_for(from);
}

void gate_actor::unwatch_caller(std::uint64_t caller) {
  if (auto i = callers_.find(caller); i != callers_.end()) {
    unwatch_for(i->second);
    callers_.erase(i);
  }
}

void gate_actor::watch_for(const caf::strong_actor_ptr& actor) {
  auto& x = watched_[key_of(actor)];
  if (++x.reasons > 1)
    return;
  x.actor = caf::actor_cast<caf::actor_addr>(actor);
  watch(actor);
}

void gate_actor::unwatch_for(const caf::actor_addr& actor) {
  auto i = watched_.find(key_of(actor));
  if (i == watched_.end())
    return; // It has ended.
  if (--i->second.reasons > 0)
    return;
  watched_.erase(i);
  unwatch(actor);
}

// -- subscribers --------------------------------------------------------------

// An actor that cannot subscribe is notified even if it sent no request: by the
// only event that it gets.
caf::result<void> gate_actor::add_subscriber() {
  auto from = caf::actor_cast<caf::actor>(current_sender());
  auto key = key_of(current_sender());
  if (!from
      || std::any_of(subscribers_.begin(), subscribers_.end(),
                     [&](const auto& x) { return x.key == key; }))
    return caf::unit;
  if (subscribers_.size() < max_subscribers) {
    watch_for(from);
    subscribers_.push_back({key, std::move(from)});
    return caf::unit;
  }
  auto why = fmt::format("the gate has {} subscribers already",
                         max_subscribers);
  if (portable::handles_request(this))
    return make_error(errc::invalid_config,
                      rejection{name_, duration::zero(), false, why});
  portable::post(
    this, from,
    caf::make_message(engine_.make_event(
      {.kind = event_kind::rejected, .to = "subscribe", .detail = why},
      now())));
  return caf::unit;
}

void gate_actor::remove_subscriber() {
  auto from = caf::actor_cast<caf::actor>(current_sender());
  auto key = key_of(current_sender());
  if (std::erase_if(subscribers_, [&](const auto& x) { return x.key == key; })
      > 0)
    unwatch_for(from.address());
}

} // namespace caisson::detail
