#include <caisson/canary_mirrors.hpp>

#include <caisson/callback.hpp>

#include <utility>

namespace caisson {

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

} // namespace caisson
