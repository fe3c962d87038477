// A local gate as an actor, so that what is tested on gates can be tested on it.
#pragma once

#include <caisson/local_gate.hpp>
#include <caisson/virtual_time.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace caisson::test {

/// Hands every message that it gets to a local gate, and the answer back.
class local_proxy final
  : public rt::interceptor<get_status, reconfigure, command, subscribe> {
public:
  using super = rt::interceptor<get_status, reconfigure, command, subscribe>;

  local_proxy(caf::actor_config& cfg, worker behind, stack policies)
    : super(cfg), gate_(this, std::move(behind), policies) {}

  static caf::actor spawn(caf::actor_system& sys, worker behind, stack s) {
    return caf::actor_cast<caf::actor>(
      sys.spawn<local_proxy>(std::move(behind), std::move(s)));
  }

protected:
  caf::message_handler control() override {
    return caf::message_handler{
      [this](const get_status&) { return gate_.get_status(); },
      [this](const reconfigure& x) { return done(gate_.reconfigure(x)); },
      [this](const command& x) { return done(gate_.command(x)); },
      [this](const subscribe&) {
        auto to = caf::actor_cast<caf::actor>(current_sender());
        gate_.on_event([this, to](const event& x) { rt::tell(this, to, x); });
      },
    };
  }

  void on_message(rt::reply_to from, caf::message content) override {
    auto who = std::make_shared<rt::reply_to>(std::move(from));
    auto request = rt::holds<call>(content)
                     ? gate_.request(rt::take<call>(content))
                     : gate_.request_message(std::move(content));
    std::move(request).then(
      [this, who](caf::message x) { who->answer(this, std::move(x)); },
      [this, who](caf::error& x) {
        who->answer(this, caf::make_message(std::move(x)));
      });
  }

  void on_answer(std::uint64_t, caf::message) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  caf::result<status> done(caf::error err) {
    if (err != caf::none)
      return err;
    return gate_.get_status();
  }

  local_gate<> gate_;
};

} // namespace caisson::test
