// Passes outcomes up through the layers.
#pragma once

#include <caisson/engine/engine_core.hpp>

#include <cstddef>

namespace caisson::detail {

/// Takes an outcome up until a layer holds its call, or it is past all of them.
class ascent {
public:
  explicit ascent(engine_core& core) : core_(core) {}

  ascent(const ascent&) = delete;
  ascent& operator=(const ascent&) = delete;

  /// Goes up from layer `last` on. Layers may replace `o`. Returns whether it
  /// is past all of them; if not, a layer holds the call.
  [[nodiscard]] bool pass(call_record& r, int last, outcome& o);

private:
  decision complete(call_record& r, std::size_t k, layer_entry& x, outcome& o);
  bool completed(call_record& r, std::size_t k, const decision& d, outcome& o);

  engine_core& core_;
};

} // namespace caisson::detail
