#include <caisson/stack/verifier_actor.hpp>

#include <caisson/policy/callback.hpp>

#include <string_view>

namespace caisson::detail {

caf::message_handler verifier_actor::control() {
  // A verification ends before it could be cancelled.
  return {[](const cancelled&) {}};
}

void verifier_actor::on_message(portable::reply_to from,
                                caf::message&& content) {
  auto result = try_user([&] { return verify_(content); },
                         [](std::string_view) {});
  from.answer(this,
              caf::make_message(result.value_or(verification::unknown())));
}

} // namespace caisson::detail
