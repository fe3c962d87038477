// Messages that only a broken or hostile node sends.
#pragma once

#include <caisson/caf/caf.hpp>

#include <cstdint>
#include <utility>

namespace caisson::test {

/// Sends `content` to `to` under the id with this raw value.
inline void forge(const caf::actor& to, caf::strong_actor_ptr from,
                  std::uint64_t raw_id, caf::message content) {
  auto* receiver = caf::actor_cast<caf::abstract_actor*>(to);
  caf::message_id id{raw_id};
#if CAISSON_CAF_LEGACY
  receiver->enqueue(std::move(from), id, std::move(content), nullptr);
#else
  receiver->enqueue(
    caf::make_mailbox_element(std::move(from), id, std::move(content)),
    nullptr);
#endif
}

} // namespace caisson::test
