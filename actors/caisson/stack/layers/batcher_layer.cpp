#include <caisson/stack/layers/batcher_layer.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/policy/callback.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

namespace {

// Of calls with the same number only the first one.
void keep_first_ones(std::vector<caf::message>& items,
                     const std::vector<std::uint32_t>& numbers) {
  if (numbers.empty())
    return;
  CAISSON_ENSURE(numbers.size() == items.size(), "{} calls have {} numbers",
                 items.size(), numbers.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (numbers[i] == n) {
      if (i != n)
        items[n] = std::move(items[i]);
      ++n;
    }
  items.resize(n);
}

// The result of its item for each call, up to the first one without.
std::vector<caf::message>
for_each_call(const std::vector<caf::message>& results,
              const std::vector<std::uint32_t>& numbers) {
  std::vector<caf::message> out;
  out.reserve(numbers.size());
  for (auto number : numbers) {
    if (number >= results.size())
      break;
    out.push_back(results[number]);
  }
  return out;
}

} // namespace

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
  if (!forms_.weigh && !forms_.identity && !forms_.shard)
    return;
  batch_item x;
  // The first function that throws is the last one that is called.
  auto ask = [&](std::string_view name, const auto& f, auto& to) {
    if (!f || x.failed)
      return;
    if (auto answer = call_user(
          name, [&] { return f(item); }, e))
      to = std::move(*answer);
    else
      x.failed = true;
  };
  ask("weigh", forms_.weigh, x.weight);
  ask("identity", forms_.identity, x.identity);
  ask("shard", forms_.shard, x.shard);
  machine().describe_next(std::move(x));
}

caf::message batcher_layer::child_content(call_id id,
                                          std::vector<caf::message> items,
                                          env& e) {
  keep_first_ones(items, machine().begin_batch(id));
  if (!forms_.assemble)
    return caf::make_message(batch{std::move(items)});
  auto whole = call_user(
    "assemble", [&] { return forms_.assemble(std::move(items)); }, e);
  return whole ? std::move(*whole) : caf::message{};
}

std::optional<std::vector<caf::message>>
batcher_layer::split(call_id id, caf::message& whole, std::size_t n, env& e) {
  auto numbers = machine().take_numbers(id);
  std::optional<std::vector<caf::message>> results;
  if (forms_.split) {
    auto items = numbers.empty() ? n : numbers.back() + std::size_t{1};
    results = call_user(
      "split", [&] { return forms_.split(std::move(whole), items); }, e);
  } else if (portable::holds<batch_reply>(whole)) {
    results = portable::take<batch_reply>(whole).results;
  }
  if (results && !numbers.empty())
    results = for_each_call(*results, numbers);
  return results;
}

} // namespace caisson
