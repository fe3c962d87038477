// A worker that takes requests and never answers.
#pragma once

#include <caisson/caf/caf.hpp>

#include <memory>
#include <vector>

namespace caisson::test {

/// To be spawned. Keeps what it owes until it ends.
template <class Request, class Answer>
caf::behavior mute(caf::event_based_actor* self) {
  auto open = std::make_shared<
    std::vector<caf::typed_response_promise<Answer>>>();
  return {[self, open](const Request&) -> caf::result<Answer> {
    open->push_back(self->make_response_promise<Answer>());
    return open->back();
  }};
}

} // namespace caisson::test
