#include <policies/retrier/model/retrier_model.hpp>

#include <chrono>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

RC_GTEST_PROP(retrier, does_as_its_model_does, ()) {
  check_against_model<retrier_model>();
}

RC_GTEST_PROP(retrier, same_seed_same_delays_within_their_bounds, ()) {
  retrier_config c;
  c.max_attempts = 1'000;
  c.idempotent = true;
  c.budget = false;
  auto seed = *rc::gen::arbitrary<std::uint64_t>();
  auto delay = *rc::gen::element<duration>(0ns, 1ms, 100ms, 3s);
  auto delays = [&] {
    rig<retrier> h{c};
    h.random = random_source{seed};
    auto id = h.arrive();
    std::vector<duration> out;
    for (int i = 0; i < 50; ++i) {
      h.finish(id, outcome::failure(errc::rate_limited, false, delay));
      out.push_back(h.calls.at(id).until - h.e.now);
      h.advance(out.back());
    }
    return out;
  };
  auto first = delays();
  RC_ASSERT(first == delays());
  for (auto d : first) {
    RC_ASSERT(d >= delay);
    RC_ASSERT(d < delay + 2s);
  }
}

} // namespace
} // namespace caisson::test
