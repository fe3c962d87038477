// The tests of this directory, and the process that some of them talk to.
#include "system/peer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> args{argv + 1, argv + argc};
  if (!args.empty() && args[0] == "serve")
    return caisson::test::serve({args.begin() + 1, args.end()});
  if (!args.empty() && args[0] == "write_back")
    return caisson::test::write_back({args.begin() + 1, args.end()});
  if (!args.empty() && args[0] == "hold_permits")
    return caisson::test::hold_permits({args.begin() + 1, args.end()});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
