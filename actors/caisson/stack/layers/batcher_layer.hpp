// The layer of a batcher: combines items and splits answers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/batcher.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// How a batcher combines items into one message, and splits the answer.
struct batching {
  /// Answers a call before it joins a batch, or returns nothing to let it join.
  std::function<std::optional<caf::message>(const caf::message&)>
    prefilter = {};
  /// Builds the message to the worker; empty: `batch{items}`.
  std::function<caf::message(std::vector<caf::message>)> assemble = {};
  /// Splits the worker's answer, which is not an error, into `n` results;
  /// empty: by `batch_reply`, or the same answer for all. If there are too few
  /// results, the remaining items get `batch_failed`.
  std::function<std::vector<caf::message>(caf::message, std::size_t n)>
    split = {};
  /// The weight of a call for `max_weight`, such as its size in bytes; less
  /// than 1 counts as 1. Empty: the call's `permits`. If it throws, the call
  /// gets `callback_failed`.
  std::function<std::uint64_t(const caf::message&)> weigh = {};
  /// Calls with equal identities that are in the same batch are sent once, and
  /// all get that result; empty text: the call is equal to no other. Empty: so
  /// are all. If it throws, the call gets `callback_failed`.
  std::function<std::string(const caf::message&)> identity = {};
  /// Only calls of the same shard share a batch, such as those to one table.
  /// Empty: all do. If it throws, the call gets `callback_failed`.
  std::function<std::string(const caf::message&)> shard = {};

  /// For workers that take a `std::vector<T>` and answer with a
  /// `std::vector<R>`. An item is a message with a single T. Both vectors must
  /// be message types (listed in a type-id block to cross the network).
  template <class T, class R>
  static batching vectors();
};

/// Combines a `batcher`'s items into one message.
class batcher_layer final : public policy_layer<batcher> {
public:
  /// Throws `config_error` if `c` is not valid.
  explicit batcher_layer(const batcher_config& c, batching forms = {})
    : policy_layer<batcher>(c), forms_(std::move(forms)) {}

  [[nodiscard]] bool handles_content() const override { return true; }
  std::optional<caf::message> prefilter(const caf::message& item,
                                        env& e) override;
  void examine(const caf::message& item, env& e) override;
  caf::message child_content(call_id batch, std::vector<caf::message> items,
                             env& e) override;
  std::optional<std::vector<caf::message>>
  split(call_id batch, caf::message& whole, std::size_t n, env& e) override;

private:
  batching forms_;
};

template <>
struct layer_of<batcher> {
  using type = batcher_layer;
};

// -- implementation -----------------------------------------------------------

template <class T, class R>
batching batching::vectors() {
  batching result;
  result.assemble = [](std::vector<caf::message> items) {
    std::vector<T> xs;
    xs.reserve(items.size());
    for (auto& item : items)
      xs.push_back(portable::holds<T>(item) ? portable::take<T>(item) : T{});
    return caf::make_message(std::move(xs));
  };
  // An item of another type would shift the results of later items.
  result.prefilter =
    [](const caf::message& item) -> std::optional<caf::message> {
    if (portable::holds<T>(item))
      return std::nullopt;
    return caf::make_message(
      caf::make_error(caf::sec::unexpected_message, item));
  };
  result.split = [](caf::message answer, std::size_t) {
    std::vector<caf::message> out;
    if (!portable::holds<std::vector<R>>(answer))
      return out;
    for (auto& x : portable::take<std::vector<R>>(answer))
      out.push_back(caf::make_message(std::move(x)));
    return out;
  };
  return result;
}

} // namespace caisson
