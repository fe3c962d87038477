#include <caisson/canary_layer.hpp>

#include <caisson/detail/message_at.hpp>

#include <memory>
#include <utility>

namespace caisson {

using detail::message_at;

canary_layer::canary_layer(const canary_config& c)
  : policy_layer<canary>(c, host_with(false, {})) {}

canary_layer::canary_layer(const canary_config& c, caf::actor target,
                           answer_comparator same)
  : policy_layer<canary>(c, host_with(true, std::move(same))),
    target_(std::move(target)) {}

// What the policy calls later; nothing of this object exists yet.
canary_host canary_layer::host_with(bool present, answer_comparator same) {
  canary_host out;
  out.present = present;
  out.sends = [this] { return active() == mode::enforce; };
  out.keep = [](const void* x) {
    return std::make_shared<const caf::message>(message_at(x));
  };
  if (same)
    out.same = [f = std::move(same)](const void* baseline, const void* canary) {
      return f(message_at(baseline), message_at(canary));
    };
  return out;
}

void canary_layer::check_extras(const caf::actor& target,
                                const setting_path& path, problems& out) {
  if (!target)
    out.push_back({problem_kind::missing, path / "canary",
                   "there is no actor to ask: the handle is null"});
}

void canary_layer::check_extras(const caf::actor& target,
                                const answer_comparator&,
                                const setting_path& path, problems& out) {
  check_extras(target, path, out);
}

void canary_layer::examine(const caf::message& content, env&) {
  machine().look_at(&content);
}

caf::message canary_layer::child_content(call_id child,
                                         std::vector<caf::message> parents,
                                         env&) {
  if (!parents.empty())
    return std::move(parents.front());
  auto content = machine().take_content(child);
  return content ? message_at(content.get()) : caf::message{};
}

std::vector<caf::actor> canary_layer::targets() const {
  if (!target_)
    return {};
  return {target_};
}

} // namespace caisson
