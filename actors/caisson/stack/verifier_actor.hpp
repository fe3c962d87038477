// A function as a verifier.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>
#include <caisson/caf/interceptor.hpp>
#include <caisson/caf/messages.hpp>

#include <functional>
#include <utility>

namespace caisson::detail {

/// Answers each call's content with what a function says of it. One that throws
/// does not know.
class verifier_actor final : public portable::interceptor<cancelled> {
public:
  using function = std::function<verification(const caf::message&)>;

  verifier_actor(caf::actor_config& cfg, function f)
    : portable::interceptor<cancelled>(cfg), verify_(std::move(f)) {}

private:
  caf::message_handler control() override;
  void on_message(portable::reply_to from, caf::message&& content) override;
  void on_answer(std::uint64_t, caf::message&&) override {}
  void on_timer() override {}
  void on_down(const caf::actor_addr&, const caf::error&) override {}

  function verify_;
};

} // namespace caisson::detail
