// Gates of an actor system that does not know Caisson's types.
#include <caisson/gate/gate.hpp>

#include <gtest/gtest.h>

#include <string>

namespace caisson::test {
namespace {

std::string said_by_two_gates(caf::actor_system_config& cfg) {
  testing::internal::CaptureStderr();
  {
    caf::actor_system sys{cfg};
    for (auto i : {1, 2}) {
      auto g = spawn_gate(sys, sys.spawn([]() -> caf::behavior {
        return {[](int x) { return x; }};
      }),
                          stack{"g" + std::to_string(i)});
      caf::anon_send_exit(g, caf::exit_reason::user_shutdown);
    }
  }
  return testing::internal::GetCapturedStderr();
}

TEST(unprepared_system, is_reported_once_in_a_program) {
  system_config prepared;
  EXPECT_EQ(said_by_two_gates(prepared), "");
  caf::actor_system_config plain;
  auto report = said_by_two_gates(plain);
#if CAISSON_CAF_LEGACY
  EXPECT_NE(report.find("caisson::system_config"), report.npos) << report;
  EXPECT_EQ(report.find('\n'), report.size() - 1) << report;
#endif
  EXPECT_EQ(said_by_two_gates(plain), CAISSON_CAF_LEGACY ? "" : report);
}

} // namespace
} // namespace caisson::test
