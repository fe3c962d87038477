// Reads how much work a message to a service asks for.
#pragma once

#include <simulator/world/messages.hpp>

#include <cstdint>

namespace caisson::sim {

/// A single piece of work, or a batch of them.
struct work_items {
  /// The only or the first one; null if the message asks for no work.
  const work* first = nullptr;
  /// What the call's envelope says; null without one.
  const call_options* options = nullptr;
  /// How many pieces there are, those of batches within a batch counted singly.
  std::uint32_t items = 1;
  /// How many results a batch wants; 0 if it is none.
  std::uint32_t results = 0;
};

namespace internal {

inline void add_items(const caf::message& content, work_items& into) {
  if (auto* many = portable::get_if<batch>(content)) {
    for (const auto& item : many->items)
      add_items(item, into);
  } else if (auto* one = portable::get_if<work>(content)) {
    ++into.items;
    into.first = into.first ? into.first : one;
  }
}

} // namespace internal

/// The work in `content`, which must outlive it.
inline work_items work_in(const caf::message& content) {
  work_items o;
  o.items = 0;
  auto* inner = &content;
  if (auto* envelope = portable::get_if<call>(content)) {
    o.options = &envelope->options;
    inner = &envelope->payload;
  }
  if (auto* many = portable::get_if<batch>(*inner))
    o.results = static_cast<std::uint32_t>(many->items.size());
  internal::add_items(*inner, o);
  return o;
}

} // namespace caisson::sim
