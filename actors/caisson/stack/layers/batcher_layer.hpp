// The layer of a batcher: combines items and splits answers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/batcher/batcher.hpp>
#include <caisson/stack/content.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

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

} // namespace caisson
