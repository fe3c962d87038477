#include <policies/deadline/model/deadline_model.hpp>

#include <chrono>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

RC_GTEST_PROP(deadline, does_as_its_model_does, ()) {
  check_against_model<deadline_model>();
}

RC_GTEST_PROP(deadline, nests_in_any_order, ()) {
  // A stack of deadlines that go by their timeouts: the layers below see the
  // earliest, with or without a default in place of the caller's.
  std::vector<deadline> layers;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    auto c = deadline_model::any_settings();
    c.min_left = c.reserve = 0ns;
    c.share = 1;
    layers.emplace_back(c);
  }
  std::vector<slot> notes(layers.size());
  random_source random;
  env e{rig<deadline>::start(), random};
  call_info call;
  call.default_deadline = *rc::gen::arbitrary<bool>();
  if (call.default_deadline)
    call.deadline = e.now + 30s;
  auto earliest = never;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    e.now += 1ns;
    RC_ASSERT(layers[i].admit(call, notes[i], e).what == decision::kind::pass);
    earliest = std::min(earliest, e.now + layers[i].config().timeout);
    RC_ASSERT(call.deadline == earliest);
    RC_ASSERT(!call.default_deadline);
  }
  // Whatever happens on the way back, the deadline is the host's.
  for (auto i = layers.size(); i-- > 0;) {
    auto o = outcome::success();
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        layers[i].complete(call, notes[i], o, e);
        break;
      case 1:
        layers[i].abandon(call, notes[i], o, true, e);
        break;
      case 2:
        layers[i].deadline_passed(call, notes[i], e);
        break;
    }
    RC_ASSERT(call.deadline == earliest);
  }
}

} // namespace
} // namespace caisson::test
