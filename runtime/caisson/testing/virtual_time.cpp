#include <caisson/testing/virtual_time.hpp>

#include <map>

namespace caisson {

namespace detail {

struct probe_state {
  std::vector<caf::message> received;
  probe_actor* actor = nullptr;
};

class probe_actor final : public portable::interceptor<> {
public:
  probe_actor(caf::actor_config& cfg, std::shared_ptr<probe_state> state)
    : portable::interceptor<>(cfg), state_(std::move(state)) {
    state_->actor = this;
  }

  const char* name() const override { return "caisson.probe"; }

  void on_exit() override {
    state_->actor = nullptr;
    portable::interceptor<>::on_exit();
  }

  pending_answer ask(const caf::actor& to, caf::message content, bool urgent) {
    portable::forget_context(this);
    pending_answer answer;
    auto key = ++asked_;
    answers_.emplace(key, answer.state_);
    if (to)
      forward(to, key, std::move(content), urgent);
    else
      on_answer(key,
                caf::make_message(caf::make_error(caf::sec::invalid_argument)));
    return answer;
  }

  void send_message(const caf::actor& to, caf::message content) {
    portable::forget_context(this);
    if (to)
      portable::post(this, to, std::move(content));
  }

protected:
  caf::message_handler control() override {
    // An actor without any handler would end at once; this one is never used.
    return caf::message_handler{[](const subscribe&) {}};
  }

  void on_message(portable::reply_to from, caf::message&& content) override {
    state_->received.push_back(std::move(content));
    from.answer(this, caf::message{});
  }

  void on_answer(std::uint64_t key, caf::message&& content) override {
    auto i = answers_.find(key);
    if (i == answers_.end())
      return;
    auto& x = *i->second;
    if (++x.count == 1) {
      x.content = std::move(content);
      x.at = clock().now();
    }
  }

  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  std::shared_ptr<probe_state> state_;
  std::uint64_t asked_ = 0;
  // Kept after the answer, to notice a second one.
  std::map<std::uint64_t, std::shared_ptr<pending_answer::shared>> answers_;
};

} // namespace detail

// -- probe --------------------------------------------------------------------

pending_answer probe::request_message(const caf::actor& to,
                                      caf::message content) {
  return request_message(to, std::move(content), false);
}

pending_answer probe::request_message(const caf::actor& to,
                                      caf::message content, bool urgent) {
  if (!state_->actor)
    return {}; // The probe was killed: nobody asks, nobody gets it.
  return state_->actor->ask(to, std::move(content), urgent);
}

void probe::send_message(const caf::actor& to, caf::message content) {
  if (state_->actor)
    state_->actor->send_message(to, std::move(content));
}

const std::vector<caf::message>& probe::received() const noexcept {
  return state_->received;
}

void probe::forget_received() {
  state_->received.clear();
}

// -- virtual_time -------------------------------------------------------------

virtual_time::virtual_time(std::optional<std::uint64_t> seed)
  : own_config_(std::make_unique<system_config>()) {
  if (seed)
    order_.emplace(*seed);
  start(*own_config_);
}

virtual_time::virtual_time(caf::actor_system_config& cfg,
                           std::optional<std::uint64_t> seed) {
  if (seed)
    order_.emplace(*seed);
  start(cfg);
}

void virtual_time::start(caf::actor_system_config& cfg) {
  portable::use_virtual_time(cfg);
  system_ = std::make_unique<caf::actor_system>(cfg);
  portable::do_not_await_actors(*system_);
  stepper_ = std::make_unique<portable::stepper>(*system_);
  user_.emplace(make_probe());
  start_ = now();
}

virtual_time::~virtual_time() {
  watch({});
  for (const auto& x : probes_)
    caf::anon_send_exit(x.handle(), caf::exit_reason::kill);
  user_.reset();
  probes_.clear();
  try {
    run_until_idle();
    stepper_->end_residents();
    run_until_idle();
  } catch (...) {
    // Actors that keep each other busy: what they hold is leaked, as it would
    // be anyway.
  }
  // Otherwise the system's destructor fires timers as long as actors set them
  // again.
  stepper_->drop_timers();
}

probe virtual_time::make_probe() {
  auto state = std::make_shared<detail::probe_state>();
  auto hdl = system_->spawn<detail::probe_actor, caf::hidden>(state);
  probes_.push_back(probe{hdl, state});
  run_until_idle();
  return probes_.back();
}

template <class F>
std::size_t virtual_time::run_while(F condition, std::size_t limit) {
  std::size_t steps = 0;
  for (; stepper_->runnable() > 0 && condition() && goes_on(); ++steps) {
    if (steps == limit)
      throw std::runtime_error{"virtual_time: the actors never become idle"};
    stepper_->run(order_ ? order_->below(stepper_->runnable()) : 0);
  }
  handled_ += steps;
  return steps;
}

std::size_t virtual_time::run_until_idle(std::size_t limit) {
  return run_while([] { return true; }, limit);
}

std::size_t
virtual_time::run_until_ready(const std::vector<pending_answer>& answers,
                              std::size_t limit) {
  std::size_t ready = 0;
  auto missing = [&] {
    while (ready < answers.size() && answers[ready].ready())
      ++ready;
    return ready < answers.size();
  };
  return run_while(missing, limit);
}

void virtual_time::watch(std::function<bool()> goes_on) {
  watch_ = std::move(goes_on);
  unwatched_ = 0;
  stopped_ = false;
}

bool virtual_time::goes_on() {
  constexpr std::size_t every = 256;
  if (watch_ && !stopped_ && ++unwatched_ == every) {
    unwatched_ = 0;
    stopped_ = !watch_();
  }
  return !stopped_;
}

void virtual_time::advance(duration d) {
  advance_to(time_after(now(), d));
}

void virtual_time::advance_to(time_point t) {
  run_until_idle();
  while (stepper_->has_timers() && stepper_->next_timer() <= t && goes_on()) {
    stepper_->fire_next_timer();
    run_until_idle();
  }
  if (t > now() && !stopped_)
    stepper_->set_now(t);
}

void virtual_time::run_all_timers(std::size_t limit) {
  run_until_idle();
  for (std::size_t i = 0; stepper_->has_timers() && goes_on(); ++i) {
    if (i == limit)
      throw std::runtime_error{"virtual_time: the timers never end"};
    stepper_->fire_next_timer();
    run_until_idle();
  }
}

std::size_t virtual_time::actors() {
  return portable::running(*system_);
}

} // namespace caisson
