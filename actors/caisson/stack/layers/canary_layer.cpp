#include <caisson/stack/layers/canary_layer.hpp>

#include <caisson/caf/element_text.hpp>
#include <caisson/engine/message_at.hpp>
#include <caisson/policies/canary/difference_text.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace caisson {

using detail::message_at;

namespace {

std::string difference_of(const caf::message& baseline,
                          const caf::message& canary) {
  if (baseline.size() != canary.size())
    return fmt::format("number of elements: baseline {}, canary {}",
                       baseline.size(), canary.size());
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    auto baseline_text = portable::text_of_element(baseline, i);
    auto canary_text = portable::text_of_element(canary, i);
    if (baseline_text != canary_text || i + 1 == baseline.size())
      return fmt::format(
        "element {}, {}", i,
        detail::difference_of_texts(baseline_text, canary_text));
  }
  return "no elements";
}

constexpr std::size_t longest_description = 600;

} // namespace

canary_layer::canary_layer(const canary_config& c)
  : policy_layer<canary>(c, host_with(false, {}, {})) {}

canary_layer::canary_layer(const canary_config& c, caf::actor target,
                           answer_comparator same,
                           difference_describer describe)
  : policy_layer<canary>(c,
                         host_with(true, std::move(same), std::move(describe))),
    target_(std::move(target)) {}

// What the policy calls later; nothing of this object exists yet.
canary_host canary_layer::host_with(bool present, answer_comparator same,
                                    difference_describer describe) {
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
  out.describe = [f = std::move(describe)](const void* a, const void* b) {
    auto& baseline = message_at(a);
    auto& canary = message_at(b);
    return f ? detail::printable(
             detail::shortened(f(baseline, canary), longest_description))
             : difference_of(baseline, canary);
  };
  out.text = [](const void* x) {
    auto& answer = message_at(x);
    return answer.size() == 1 ? portable::text_of_element(answer, 0)
                              : to_string(answer);
  };
  return out;
}

void canary_layer::check_extras(const caf::actor& target,
                                const setting_path& path, problems& out) {
  if (!target)
    out.push_back({problem_kind::missing, path / "canary",
                   "the handle of the actor is null"});
}

void canary_layer::check_extras(const caf::actor& target,
                                const answer_comparator&,
                                const setting_path& path, problems& out) {
  check_extras(target, path, out);
}

void canary_layer::check_extras(const caf::actor& target,
                                const answer_comparator&,
                                const difference_describer&,
                                const setting_path& path, problems& out) {
  check_extras(target, path, out);
}

std::map<std::string, std::string> canary_layer::notes() const {
  return policy_machine().notes();
}

void canary_layer::examine(const caf::message& content, env&) {
  machine().set_next(&content);
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
