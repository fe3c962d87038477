#include <caisson/policies/canary/canary_mirrors.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policies/canary/difference_text.hpp>
#include <caisson/policy/call_number.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <utility>

namespace caisson {

namespace {

std::string text_of_answer(bool ok, std::uint64_t category, std::uint8_t code,
                           const void* answer, const canary_host& host) {
  if (!ok && category == caisson_category)
    return std::string{name_of(static_cast<errc>(code))};
  if (answer && host.text)
    return detail::cut_text(host.text(answer));
  return ok ? "a value" : fmt::format("error {}", code);
}

} // namespace

void canary_mirrors::start(call_id child, mirror m) {
  auto fresh = running_.emplace(child, std::move(m)).second;
  CAISSON_ENSURE(fresh, "call {} is a mirror already", call_number(child));
}

canary_mirrors::content canary_mirrors::take_asked(call_id child) {
  auto i = running_.find(child);
  return i == running_.end() ? nullptr : std::exchange(i->second.asked, {});
}

std::optional<canary_mirrors::mirror> canary_mirrors::end(call_id child) {
  auto node = running_.extract(child);
  if (node.empty())
    return std::nullopt;
  return std::move(node.mapped());
}

std::vector<call_id> canary_mirrors::end_all() {
  std::vector<call_id> out;
  out.reserve(running_.size());
  for (const auto& [child, m] : running_)
    out.push_back(child);
  running_.clear();
  return out;
}

std::optional<std::string_view>
canary_mirrors::difference(const mirror& m, const outcome& o,
                           const canary_host& host, env& e) {
  if (o.ok != m.ok)
    return "outcome";
  if (!o.ok)
    return o.code == m.code && o.category == m.category ? "" : "code";
  if (!host.same || !m.answer || !o.reply)
    return "";
  auto same = call_user(
    "same", [&] { return host.same(m.answer.get(), o.reply); }, e);
  if (!same)
    return std::nullopt;
  return *same ? "" : "value";
}

std::string canary_mirrors::description(const mirror& m, const outcome& o,
                                        std::string_view difference,
                                        const canary_host& host, env& e) {
  auto words = [&]() -> std::string {
    if (difference != "value")
      return fmt::format(
        "baseline {}, canary {}",
        text_of_answer(m.ok, m.category, m.code, m.answer.get(), host),
        text_of_answer(o.ok, o.category, o.code, o.reply, host));
    return host.describe ? host.describe(m.answer.get(), o.reply) : "";
  };
  return call_user("describe", words, e).value_or("");
}

} // namespace caisson
