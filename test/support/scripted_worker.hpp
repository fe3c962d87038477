// A worker that does what the test says: take, answer, fail, stay mute, die.
#pragma once

#include <caisson/virtual_time.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::test {

/// Takes any message. With a script it answers at once with what the script
/// gives; without one, or if the script gives nothing, the message stays in
/// `taken` until the test answers it.
class scripted_worker {
public:
  using script = std::function<std::optional<caf::message>(
    const caf::message&)>;

  struct state {
    struct request {
      caf::message content;
      rt::reply_to from;
      std::uint64_t number = 0;
    };
    class body;
    std::vector<request> taken;
    std::size_t count = 0;
    script run;
    std::vector<std::uint64_t> cancelled_calls;
    body* actor = nullptr;
  };

  explicit scripted_worker(virtual_time& world, script run = {});

  /// Answers everything with `x`.
  template <class T>
  static script always(T x) {
    return [msg = caf::make_message(std::move(x))](const caf::message&) {
      return std::optional{msg};
    };
  }

  /// Answers an int with its double, anything else with `unexpected_message`.
  static script doubling();

  [[nodiscard]] const caf::actor& handle() const noexcept { return handle_; }

  /// How many messages have come in all.
  [[nodiscard]] std::size_t count() const noexcept { return state_->count; }
  /// How many of them wait for the test to answer.
  [[nodiscard]] std::size_t open() const noexcept {
    return state_->taken.size();
  }

  /// Answers the oldest open one.
  template <class... Ts>
  void answer(Ts&&... xs) {
    answer_message(caf::make_message(std::forward<Ts>(xs)...));
  }
  void answer_message(caf::message msg);
  void fail(caf::error e) { answer_message(caf::make_message(std::move(e))); }

  /// Quits with what it has taken.
  void quit(caf::exit_reason why = caf::exit_reason::user_shutdown);

  state& look() noexcept { return *state_; }

private:
  virtual_time& world_;
  std::shared_ptr<state> state_;
  caf::actor handle_;
};

// -- implementation -----------------------------------------------------------

class scripted_worker::state::body final : public rt::interceptor<cancelled> {
public:
  body(caf::actor_config& cfg, std::shared_ptr<state> s)
    : rt::interceptor<cancelled>(cfg), state_(std::move(s)) {
    state_->actor = this;
  }

  const char* name() const override { return "scripted_worker"; }
  void on_exit() override {
    state_->actor = nullptr;
    state_->taken.clear();
    rt::interceptor<cancelled>::on_exit();
  }

  void reply(rt::reply_to& to, caf::message msg) {
    rt::forget_context(this);
    to.answer(this, std::move(msg));
  }

protected:
  caf::message_handler control() override {
    return caf::message_handler{[this](const cancelled& x) {
      state_->cancelled_calls.push_back(x.number);
    }};
  }
  void on_message(rt::reply_to from, caf::message content) override {
    ++state_->count;
    if (state_->run)
      if (auto result = state_->run(content))
        return from.answer(this, std::move(*result));
    state_->taken.push_back(
      {std::move(content), std::move(from), rt::current_call(this)});
  }
  void on_answer(std::uint64_t, caf::message) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  std::shared_ptr<state> state_;
};

inline scripted_worker::scripted_worker(virtual_time& world, script run)
  : world_(world), state_(std::make_shared<state>()) {
  state_->run = std::move(run);
  handle_ = world.system().spawn<state::body>(state_);
  world.run_until_idle();
}

inline scripted_worker::script scripted_worker::doubling() {
  return [](const caf::message& msg) -> std::optional<caf::message> {
    if (auto* x = rt::get_if<int>(msg))
      return caf::make_message(*x * 2);
    return caf::make_message(
      caf::make_error(caf::sec::unexpected_message, msg));
  };
}

inline void scripted_worker::answer_message(caf::message msg) {
  auto first = std::move(state_->taken.front());
  state_->taken.erase(state_->taken.begin());
  state_->actor->reply(first.from, std::move(msg));
  world_.run_until_idle();
}

inline void scripted_worker::quit(caf::exit_reason why) {
  caf::anon_send_exit(handle_, why);
  world_.run_until_idle();
}

} // namespace caisson::test
