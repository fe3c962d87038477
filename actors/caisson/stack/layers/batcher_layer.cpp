#include <caisson/stack/layers/batcher_layer.hpp>

#include <caisson/caf/messages.hpp>
#include <caisson/policy/callback.hpp>

namespace caisson {

std::optional<caf::message> batcher_layer::prefilter(const caf::message& item,
                                                     env& e) {
  if (!forms_.prefilter)
    return std::nullopt;
  auto answer = call_user(
    "prefilter", [&] { return forms_.prefilter(item); }, e);
  if (!answer || !*answer)
    return std::nullopt;
  machine().note_prefiltered();
  return std::move(*answer);
}

void batcher_layer::examine(const caf::message& item, env& e) {
  if (!forms_.weigh)
    return;
  batch_item x;
  x.weight = call_user(
    "weigh", [&] { return forms_.weigh(item); }, e);
  x.failed = !x.weight;
  machine().describe_next(x);
}

caf::message
batcher_layer::child_content(call_id, std::vector<caf::message> items, env& e) {
  if (!forms_.assemble)
    return caf::make_message(batch{std::move(items)});
  auto whole = call_user(
    "assemble", [&] { return forms_.assemble(std::move(items)); }, e);
  return whole ? std::move(*whole) : caf::message{};
}

std::optional<std::vector<caf::message>>
batcher_layer::split(call_id, caf::message& whole, std::size_t n, env& e) {
  if (!forms_.split) {
    if (!portable::holds<batch_reply>(whole))
      return std::nullopt;
    return portable::take<batch_reply>(whole).results;
  }
  return call_user(
    "split", [&] { return forms_.split(std::move(whole), n); }, e);
}

} // namespace caisson
