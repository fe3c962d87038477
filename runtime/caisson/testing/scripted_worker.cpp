#include <caisson/testing/scripted_worker.hpp>

#include <algorithm>
#include <map>

namespace caisson {

namespace detail {

// What the worker and the test share; it outlives both.
struct scripted_state {
  struct held {
    scripted_worker::arrival what;
    portable::reply_to from;
    // Counts messages from 1 on, as `count` does.
    std::size_t index = 0;
  };
  struct step {
    scripted_worker::reply what;
    std::size_t left = 0;
  };

  // Null while it is dead.
  scripted_actor* actor = nullptr;
  std::size_t incarnations = 0;
  scripted_worker::script run;
  std::deque<step> plan;
  // Whether the script is being asked.
  bool deciding = false;
  std::deque<scripted_worker::arrival> received;
  std::size_t count = 0;
  std::size_t cancelled = 0;
  std::deque<held> open;

  void keep(const scripted_worker::arrival& x) {
    ++count;
    received.push_back(x);
    if (received.size() > scripted_worker::max_received)
      received.pop_front();
  }

  scripted_worker::reply decide(const caf::message& content) {
    if (!plan.empty()) {
      auto what = plan.front().what;
      if (--plan.front().left == 0)
        plan.pop_front();
      return what;
    }
    // A copy, because it may replace itself.
    auto f = run;
    if (!f)
      return {};
    deciding = true;
    try {
      auto what = f(content);
      deciding = false;
      return what;
    } catch (...) {
      deciding = false;
      throw;
    }
  }

  // Marks the request, in its list and among those received.
  bool cancel(held& x, const caf::strong_actor_ptr& sender, std::uint64_t n) {
    if (x.what.number != n || x.from.sender() != sender)
      return false;
    x.what.cancelled = true;
    auto age = count - x.index;
    if (age < received.size())
      received[received.size() - 1 - age].cancelled = true;
    return true;
  }
};

// Held only by the test: an actor that held its own handle would live forever.
struct scripted_life {
  explicit scripted_life(virtual_time& w) : world(w) {}

  void start();

  virtual_time& world;
  std::shared_ptr<scripted_state> state = std::make_shared<scripted_state>();
  caf::actor handle;
};

class scripted_actor final : public portable::interceptor<cancelled> {
public:
  using reply = scripted_worker::reply;
  using held = scripted_state::held;

  scripted_actor(caf::actor_config& cfg, std::shared_ptr<scripted_state> state)
    : portable::interceptor<cancelled>(cfg), state_(std::move(state)) {
    state_->actor = this;
  }

  const char* name() const override { return "caisson.scripted_worker"; }

  void on_exit() override {
    state_->actor = nullptr;
    state_->open.clear();
    later_.clear();
    portable::interceptor<cancelled>::on_exit();
  }

  // From outside of its handlers.
  void answer(held x, caf::message content) {
    portable::forget_context(this);
    x.from.answer(this, std::move(content));
  }

protected:
  caf::behavior make_behavior() override {
    auto result = portable::interceptor<cancelled>::make_behavior();
    // CAF's own prints the exception.
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return result;
  }

  caf::message_handler control() override {
    return {[this](const cancelled& x) {
      ++state_->cancelled;
      const auto& canceller = current_sender();
      for (auto& open : state_->open)
        if (state_->cancel(open, canceller, x.number))
          return;
      for (auto& [at, later] : later_)
        if (state_->cancel(later.request, canceller, x.number))
          return;
    }};
  }

  void on_message(portable::reply_to from, caf::message&& content) override {
    held x{{std::move(content), clock().now(), state_->incarnations,
            from.number(), from.urgent()},
           std::move(from),
           state_->count + 1};
    state_->keep(x.what);
    reply what;
    try {
      what = state_->decide(x.what.content);
    } catch (...) {
      x.from.answer(this, error_content(caf::sec::runtime_error));
      throw;
    }
    if (what.delay_ > duration::zero()) {
      auto at = time_after(clock().now(), what.delay_);
      later_.emplace(at, delayed{std::move(x), std::move(what)});
      set_timer(later_.begin()->first);
    } else {
      carry_out(std::move(x), std::move(what));
    }
  }

  void on_timer() override {
    auto now = clock().now();
    while (!later_.empty() && later_.begin()->first <= now) {
      auto first = later_.extract(later_.begin());
      auto& [request, what] = first.mapped();
      carry_out(std::move(request), std::move(what));
    }
    set_timer(later_.empty() ? never : later_.begin()->first);
  }

  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  struct delayed {
    held request;
    reply what;
  };

  void carry_out(held x, reply what) {
    switch (what.kind_) {
      case reply::kind::open:
        if (x.from.expects_reply())
          state_->open.push_back(std::move(x));
        break;
      case reply::kind::answer:
        x.from.answer(this, std::move(what.content_));
        break;
      case reply::kind::silence:
        break;
      case reply::kind::death:
        // What is due behind it must not be done any more.
        later_.clear();
        quit(std::move(what.why_));
        break;
    }
  }

  std::shared_ptr<scripted_state> state_;
  std::multimap<time_point, delayed> later_;
};

void scripted_life::start() {
  ++state->incarnations;
  handle = world.system().spawn<scripted_actor>(state);
}

caf::message error_content(caf::error err) {
  if (!err)
    throw std::logic_error{"scripted_worker: this is not an error"};
  return make_early(std::move(err));
}

namespace {

void check_index(const scripted_state& state, std::size_t i) {
  if (i < state.open.size())
    return;
  if (!state.actor)
    throw std::logic_error{"scripted_worker: nothing is open, it has ended"};
  throw std::logic_error{"scripted_worker: there is no open message "
                         + std::to_string(i) + ", there are "
                         + std::to_string(state.open.size())};
}

void check_outside(const scripted_state& state) {
  if (state.deciding)
    throw std::logic_error{"scripted_worker: not from within its script"};
}

} // namespace

} // namespace detail

// -- reply and arrival --------------------------------------------------------

scripted_worker::reply::reply(caf::message content)
  : kind_(kind::answer), content_(std::move(content)) {}

scripted_worker::reply::reply(std::optional<caf::message> content) {
  if (content)
    *this = reply{std::move(*content)};
}

scripted_worker::reply scripted_worker::reply::error(caf::error why) {
  return {detail::error_content(std::move(why))};
}

scripted_worker::reply scripted_worker::reply::silence() {
  reply x;
  x.kind_ = kind::silence;
  return x;
}

scripted_worker::reply scripted_worker::reply::death(caf::error why) {
  reply x;
  x.kind_ = kind::death;
  x.why_ = std::move(why);
  return x;
}

scripted_worker::reply scripted_worker::reply::after(duration d) const {
  if (kind_ == kind::open || kind_ == kind::silence)
    throw std::logic_error{"scripted_worker: only an answer, an error or a "
                           "death can come later"};
  if (d < duration::zero())
    throw std::logic_error{"scripted_worker: the delay is negative"};
  auto x = *this;
  x.delay_ = d;
  return x;
}

call_options scripted_worker::arrival::options() const {
  if (auto* envelope = portable::get_if<call>(content))
    return envelope->options;
  throw std::logic_error{"scripted_worker: the message came without envelope"};
}

// -- what it does -------------------------------------------------------------

scripted_worker::scripted_worker(virtual_time& world, script run)
  : life_(std::make_shared<detail::scripted_life>(world)) {
  become(std::move(run));
  life_->start();
  run_actors();
}

scripted_worker& scripted_worker::plan(reply what, std::size_t n) {
  if (n > 0)
    life_->state->plan.push_back({std::move(what), n});
  return *this;
}

std::size_t scripted_worker::planned() const noexcept {
  std::size_t sum = 0;
  for (const auto& x : life_->state->plan)
    sum += x.left;
  return sum;
}

void scripted_worker::become(script run) {
  life_->state->run = std::move(run);
}

scripted_worker::script scripted_worker::always_reply(reply what) {
  return [what = std::move(what)](const caf::message&) { return what; };
}

// -- what came, what is open --------------------------------------------------

std::size_t scripted_worker::count() const noexcept {
  return life_->state->count;
}

const std::deque<scripted_worker::arrival>&
scripted_worker::received() const noexcept {
  return life_->state->received;
}

void scripted_worker::forget_received() {
  life_->state->received.clear();
}

std::size_t scripted_worker::cancelled_count() const noexcept {
  return life_->state->cancelled;
}

std::size_t scripted_worker::open() const noexcept {
  return life_->state->open.size();
}

scripted_worker::arrival scripted_worker::open_message(std::size_t i) const {
  detail::check_index(*life_->state, i);
  return life_->state->open[i].what;
}

caf::strong_actor_ptr scripted_worker::open_sender(std::size_t i) const {
  detail::check_index(*life_->state, i);
  return life_->state->open[i].from.sender();
}

void scripted_worker::fail_nth(std::size_t i, caf::error why) {
  answer_message(i, detail::error_content(std::move(why)));
}

void scripted_worker::answer_message(std::size_t i, caf::message content) {
  auto& state = *life_->state;
  detail::check_outside(state);
  detail::check_index(state, i);
  auto pos = state.open.begin() + static_cast<std::ptrdiff_t>(i);
  auto x = std::move(*pos);
  state.open.erase(pos);
  state.actor->answer(std::move(x), std::move(content));
  run_actors();
}

// -- its life -----------------------------------------------------------------

const caf::actor& scripted_worker::handle() const noexcept {
  return life_->handle;
}

bool scripted_worker::alive() const noexcept {
  return life_->state->actor != nullptr;
}

std::size_t scripted_worker::incarnations() const noexcept {
  return life_->state->incarnations;
}

void scripted_worker::quit(caf::error why) {
  detail::check_outside(*life_->state);
  if (!why)
    throw std::logic_error{"scripted_worker: an actor does not end when it is "
                           "asked to for the reason normal"};
  if (alive())
    portable::send_anon(life_->handle,
                        caf::exit_msg{life_->handle.address(), std::move(why)});
  run_actors();
}

void scripted_worker::restart() {
  detail::check_outside(*life_->state);
  if (alive())
    throw std::logic_error{"scripted_worker: it is alive"};
  life_->start();
  run_actors();
}

std::function<caf::expected<caf::actor>(caf::actor_system&)>
scripted_worker::factory() const {
  return [life = life_](caf::actor_system&) -> caf::expected<caf::actor> {
    if (!life->state->actor)
      life->start();
    return life->handle;
  };
}

void scripted_worker::run_actors() {
  life_->world.run_until_idle();
}

} // namespace caisson
