// A local gate as an actor, so that what is tested on gates can be tested on
// it.
#pragma once

#include <caisson/gate.hpp>
#include <caisson/local_gate.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <cstddef>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

namespace caisson::test {

/// Hands every message that it gets to a local gate, and the answer back. The
/// last one that subscribes gets the events.
class local_proxy final
  : public portable::interceptor<get_status, reconfigure, command, subscribe,
                                 unsubscribe> {
public:
  using super = portable::interceptor<get_status, reconfigure, command,
                                      subscribe, unsubscribe>;

  local_proxy(caf::actor_config& cfg, worker behind, stack policies)
    : super(cfg), gate_(this, std::move(behind), policies) {}

  static caf::actor spawn(caf::actor_system& sys, worker behind, stack s) {
    return caf::actor_cast<caf::actor>(
      sys.spawn<local_proxy>(std::move(behind), std::move(s)));
  }

  /// Has the local gate of `proxy` stopped, while its actor goes on.
  static caisson::command stop_message() {
    return {operator_command::off, "the local gate itself"};
  }

  // Handlers of a dead actor are not called.
  void on_exit() override {
    for (auto& x : owed_)
      x->answer(this, caf::make_message(make_error(errc::cancelled)));
    owed_.clear();
    super::on_exit();
  }

protected:
  caf::message_handler control() override {
    return caf::message_handler{
      [this](const get_status&) { return gate_.get_status(); },
      [this](const reconfigure& x) { return done(gate_.reconfigure(x)); },
      [this](const caisson::command& x) {
        if (x.layer != stop_message().layer)
          return done(gate_.command(x));
        gate_.stop();
        return caf::result<status>{status{}};
      },
      [this](const subscribe&) {
        auto to = caf::actor_cast<caf::actor>(current_sender());
        gate_.on_event(
          [this, to](const event& x) { portable::send(this, to, x); });
      },
      [this](const unsubscribe&) { gate_.on_event({}); },
    };
  }

  void on_message(portable::reply_to from, caf::message&& content) override {
    auto asker = std::make_shared<portable::reply_to>(std::move(from));
    if (portable::holds<drain>(content))
      return gate_.drain(
        [this, asker] { asker->answer(this, caf::message{}); });
    owed_.push_back(asker);
    if (owed_.size() >= next_sweep_) {
      std::erase_if(owed_, [](const auto& x) { return !x->expects_reply(); });
      next_sweep_ = 2 * owed_.size() + 1;
    }
    auto request = portable::holds<call>(content)
                     ? gate_.request(portable::take<call>(content))
                     : gate_.request_message(std::move(content));
    std::move(request).then(
      [this, asker](caf::message x) { asker->answer(this, std::move(x)); },
      [this, asker](caf::error& x) {
        asker->answer(this, caf::make_message(std::move(x)));
      });
  }

  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

private:
  caf::result<status> done(caf::error err) {
    if (err != caf::none)
      return err;
    return gate_.get_status();
  }

  std::vector<std::shared_ptr<portable::reply_to>> owed_;
  std::size_t next_sweep_ = 1;
  local_gate<> gate_;
};

/// What hosts the layers.
enum class host_kind { gate, local };

inline std::ostream& operator<<(std::ostream& out, host_kind x) {
  return out << (x == host_kind::gate ? "a gate" : "a local gate");
}

inline caf::actor spawn_host(host_kind kind, caf::actor_system& sys,
                             worker behind, stack s) {
  return kind == host_kind::gate
           ? spawn_gate(sys, std::move(behind), std::move(s))
           : local_proxy::spawn(sys, std::move(behind), std::move(s));
}

} // namespace caisson::test
