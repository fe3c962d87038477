#include <caisson/gate/detail/local_host.hpp>

#include <caisson/base/entropy.hpp>
#include <caisson/caf/caf_log.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/caf/error_text.hpp>
#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/gate/detail/factory.hpp>
#include <caisson/gate/gate.hpp>

#include <utility>

namespace caisson::detail {

namespace {

/// Under this key a factory's helper is asked; attempts never have it.
constexpr std::uint64_t maker_key = (std::uint64_t{1} << 59) - 1;

/// So many answers are dispatched in one go.
constexpr std::size_t most_at_once = 64;

using slot_content = std::unique_ptr<local_response>;

engine_setup setup_of(const caf::scheduled_actor& self, const worker& w,
                      const stack& policies, std::uint64_t number) {
  engine_setup s;
  s.config = policies.config();
  s.layers = policies.build();
  for (auto& x : s.layers)
    x->start_in(self.home_system());
  s.supervision = w.supervision();
  s.adapter = w.adapter();
  s.dead_letters = w.dead_letters();
  s.exact_timers = portable::is_virtual(self.home_system());
  auto own = mix_seed(self.id() ^ mix_seed(number));
  // In virtual time two runs must not differ; otherwise two gates of one fleet
  // must not jitter in step.
  if (s.config.seed != 0)
    s.seed = mix_seed(static_cast<std::uint64_t>(s.config.seed));
  else if (s.exact_timers)
    s.seed = own;
  else
    s.seed = entropy_bits();
  if (s.exact_timers)
    s.secret_seed = ~own;
  s.path_key = mix_seed(category_hash(to_string(self.node())) ^ own);
  return s;
}

} // namespace

std::shared_ptr<local_host> local_host::make(caf::scheduled_actor* self,
                                             worker w, const stack& policies) {
  require_valid(w, policies);
  if (w.is_grouped())
    throw config_error{
      {{problem_kind::relation, "worker.group",
        "is for gates with their own mailbox, not for local gates"}}};
  if (w.dead_letters() == dead_letter_calls::plain_sends)
    throw config_error{
      {{problem_kind::relation, "worker.dead_letters",
        "local gates have no plain sends; ask for those of all calls"}}};
  auto x = std::make_shared<local_host>(self, std::move(w), policies);
  x->move_in();
  x->start();
  return x;
}

local_host::local_host(caf::scheduled_actor* self, worker w,
                       const stack& policies)
  : portable::resident(self), name_(policies.config().name),
    worker_(std::move(w)),
    engine_(*this, setup_of(*self, worker_, policies, number())) {
  targets_.emplace_back();
  for (auto& x : engine_.targets()) {
    engine_.add_target(info_of_target(x, self->home_system()));
    targets_.push_back(std::move(x));
  }
}

void local_host::start() {
  engine_.publish_to(
    snapshot_hub::of(self()->home_system())->join(name_, address(), true));
  for (const auto& x : targets_)
    if (x)
      watch(caf::actor_cast<caf::strong_actor_ptr>(x));
  if (worker_.factory())
    engine_.start_supervised(now());
  else if (worker_.handle())
    engine_.start_with(*use_worker(worker_.handle()).info, now());
  else if (worker_.is_existing_actor())
    engine_.start_down(now());
  else
    engine_.start(now());
  dispatch_ready();
}

// -- calls --------------------------------------------------------------------

reply_slot local_host::slot_for(std::unique_ptr<local_response> response) {
  return {std::move(response), true, false, 0, 0};
}

// Lets `enter` pass the response's slot and the current instant to the engine.
template <class F>
void local_host::submit(std::unique_ptr<local_response> response, F enter) {
  if (over())
    return;
  auto at = now();
  if (!stopped_)
    check_worker(at);
  if (response->awaited()) {
    ++awaited_;
    suspend_actor(true);
  }
  if (stopped_)
    // There is no engine any more that could answer.
    answer(slot_for(std::move(response)), caf::make_message(end_error()));
  else
    enter(slot_for(std::move(response)), at);
  dispatch_ready();
}

void local_host::call(std::unique_ptr<local_response> response,
                      caf::message&& content, call_options* options) {
  submit(std::move(response), [&](reply_slot&& from, time_point at) {
    engine_.on_call(std::move(from), std::move(content), options, at);
  });
}

void local_host::acquire(std::unique_ptr<local_response> response,
                         const caisson::acquire& what) {
  submit(std::move(response), [&](reply_slot&& from, time_point at) {
    engine_.on_acquire(std::move(from), what, at);
  });
}

void local_host::renew(std::unique_ptr<local_response> response,
                       const caisson::renew& what) {
  submit(std::move(response), [&](reply_slot&& from, time_point at) {
    engine_.on_renew(std::move(from), what, at);
  });
}

void local_host::release(const caisson::release& what) {
  if (stopped_ || over())
    return;
  engine_.on_release({}, what, now());
  if (!has_ready() && events_.empty())
    return dispatch_ready();
  // A ticket may end in the middle of anything, such as a change of the list
  // that it is in: no handler of the user's runs within that.
  if (dispatching_)
    return;
  expect_input(true);
  listen();
  call_again();
}

// Without calls no timer message arrives, and no message that a worker has
// ended.
void local_host::check_worker(time_point now) {
  if (busy_)
    return;
  if (armed_ <= now)
    engine_.on_timer(now);
  for (target_id x = 0; x < targets_.size(); ++x)
    if (targets_[x] && portable::is_down(targets_[x]))
      engine_.on_target_down(x, end_of(x), "it is down", now);
}

void local_host::on_answer(std::uint64_t key, caf::message&& content) {
  if (key == maker_key)
    take_new_worker(content);
  else if (!stopped_)
    engine_.on_answer(key, std::move(content), now());
  dispatch_ready();
}

void local_host::on_timer() {
  // Of a stopped one there may be answers left to dispatch.
  if (!stopped_) {
    armed_ = never;
    engine_.on_timer(now());
  }
  dispatch_ready();
}

void local_host::on_echo() {
  probing_ = false;
  if (!stopped_)
    engine_.on_probe(now());
  dispatch_ready();
}

// Any actor may send such a message to this address.
void local_host::on_down(const caf::actor_addr& actor, const caf::error& why) {
  for (target_id x = 0; x < targets_.size(); ++x)
    if (targets_[x] && targets_[x].address() == actor
        && portable::is_down(targets_[x]))
      engine_.on_target_down(x, end_of(x),
                             why ? portable::to_text(self()->home_system(), why)
                                 : "it has quit",
                             now());
  dispatch_ready();
}

// Handlers of the user's may call this gate again: what that makes ready is
// dispatched by the loop that is in progress, some of it only after others have
// had their turn.
void local_host::dispatch_ready() {
  if (dispatching_)
    return;
  if (!has_ready() && events_.empty() && !quit_)
    return finish_dispatch();
  dispatching_ = true;
  expect_input(wants_input());
  auto keep_alive = shared_from_this();
  struct finisher {
    local_host& host;
    ~finisher() { host.finish_dispatch(); }
  } last{*this};
  for (std::size_t count = 0; !over();) {
    if (!events_.empty()) {
      auto x = std::move(events_.front());
      events_.pop_front();
      // The listener may end itself.
      if (auto f = listener_)
        (*f)(x);
    } else if (!next_answers().empty() && ++count <= most_at_once) {
      auto& queue = next_answers();
      if (awaited_ > 0 && --awaited_ == 0)
        suspend_actor(false);
      queue.run_first();
    } else {
      return;
    }
  }
}

// Also if a handler has thrown: what is left is for the others, if the actor
// lives on.
void local_host::finish_dispatch() {
  dispatching_ = false;
  if (over())
    return;
  expect_input(wants_input());
  listen();
  if (!next_answers().empty() || !events_.empty())
    call_again();
  if (quit_ && !has_ready())
    self()->quit(*std::exchange(quit_, std::nullopt));
}

// -- operation ----------------------------------------------------------------

status local_host::get_status() {
  if (stopped_)
    return {};
  auto at = now();
  check_worker(at);
  auto s = engine_.make_status(at);
  dispatch_ready();
  return s;
}

caf::error local_host::apply(const reconfigure& x) {
  if (stopped_)
    return end_error();
  auto err = engine_.on_reconfigure(x, now());
  dispatch_ready();
  return err;
}

caf::error local_host::apply(const command& x) {
  if (stopped_)
    return end_error();
  auto err = engine_.on_command(x, now());
  dispatch_ready();
  return err;
}

void local_host::drain(std::unique_ptr<local_response> done) {
  if (over())
    return;
  if (stopped_)
    answer(slot_for(std::move(done)), caf::message{});
  else
    engine_.on_drain(slot_for(std::move(done)), now());
  dispatch_ready();
}

// Listeners also want events that no call caused.
void local_host::listen_to_events(listener f) {
  listener_ = f ? std::make_shared<const listener>(std::move(f)) : nullptr;
  if (listener_)
    listen();
}

void local_host::stop() {
  if (std::exchange(stopped_, true))
    return;
  engine_.stop();
  let_go();
  dispatch_ready();
}

void local_host::let_go() {
  if (worker_.factory())
    end_worker(self()->home_system(), targets_[worker_target],
               engine_.shutdown_time());
  targets_.assign(targets_.size(), nullptr);
  worker_ = worker{};
  busy_ = false;
}

// What a request to a gate that has ended is answered with.
caf::error local_host::end_error() const {
  if (auto err = engine_.failure(); err != caf::none)
    return err;
  return make_error(errc::cancelled, rejection{name_, duration::zero(), false,
                                               "the gate has been stopped"});
}

void local_host::abandon() {
  if (closed())
    return;
  dispatching_ = true;
  stop();
  ready_.clear();
  ready_awaited_.clear();
  events_.clear();
  listener_ = nullptr;
  close();
}

// -- what goes out ------------------------------------------------------------

std::uint64_t local_host::deliver(target_id to, std::uint64_t key,
                                  caf::message&& content, bool urgent) {
  return forward(targets_[to], key, std::move(content), urgent);
}

void local_host::send_cancelled(target_id to, std::uint64_t number) {
  if (targets_[to])
    send_as_sender_of(number, targets_[to],
                      caf::make_message(cancelled{number}));
}

void local_host::answer(reply_slot to, caf::message&& content) {
  auto x = std::move(to.as<slot_content>());
  auto& queue = x->awaited() ? ready_awaited_ : ready_;
  queue.push(std::move(x), std::move(content));
}

void local_host::wake_at(time_point at) {
  armed_ = at;
  set_timer(at);
}

void local_host::send_dead_letter(dead_letter&& x) {
  portable::send_anon(worker_.dead_letter_receiver(), std::move(x));
}

void local_host::emit(const event& what) {
  events_.push_back(what);
}

void local_host::worker_given_up(const std::string& why) {
  quit_ = make_error(
    errc::worker_down,
    rejection{name_, duration::zero(), false, "too many restarts: " + why});
}

// The actor goes on, without this gate. The answers are dispatched at the end
// of the step.
void local_host::engine_failed(const caf::error& why) {
  portable::write_to_caf_log(self()->home_system(), portable::log_level::error,
                             to_text(why));
  stopped_ = true;
  let_go();
}

bool local_host::send_probe() {
  probing_ = true;
  send_echo();
  return true;
}

void local_host::hold_open(bool busy) {
  busy_ = busy;
}

// -- the worker ---------------------------------------------------------------

made_worker local_host::use_worker(caf::actor handle) {
  auto info = info_of_worker(worker_, handle, self()->home_system());
  watch(caf::actor_cast<caf::strong_actor_ptr>(handle));
  targets_[worker_target] = std::move(handle);
  return {info, {}};
}

std::optional<made_worker> local_host::make_worker(std::uint32_t incarnation) {
  auto& sys = self()->home_system();
  if (worker_.runs_on_own_thread()) {
    incarnation_ = incarnation;
    maker_ = spawn_factory_helper(worker_.factory(), engine_.shutdown_time(),
                                  sys);
    // The helper ends its worker when this ends.
    forward_apart(maker_, maker_key, caf::make_message(incarnation), false);
    return std::nullopt;
  }
  auto [handle, failure] = run_factory(worker_.factory(), sys);
  if (!handle)
    return made_worker{{}, failure};
  return use_worker(std::move(handle));
}

void local_host::take_new_worker(caf::message& content) {
  caf::anon_send_exit(std::exchange(maker_, nullptr),
                      caf::exit_reason::user_shutdown);
  worker_made x;
  if (portable::holds<worker_made>(content))
    x = portable::take<worker_made>(content);
  else
    x.failure = "its factory's helper has ended";
  if (stopped_ || !engine_.awaits_worker(incarnation_))
    return end_worker(self()->home_system(), x.handle, engine_.shutdown_time());
  engine_.on_worker_made(x.handle ? use_worker(std::move(x.handle))
                                  : made_worker{{}, x.failure},
                         now());
}

void local_host::forget_worker() {
  auto worker = std::exchange(targets_[worker_target], nullptr);
  if (worker)
    unwatch(caf::actor_cast<caf::strong_actor_ptr>(worker));
}

bool local_host::is_down(target_id x) const {
  return !targets_[x] || portable::is_down(targets_[x]);
}

actor_end local_host::end_of(target_id x) const {
  return end_of_actor(targets_[x]);
}

} // namespace caisson::detail
