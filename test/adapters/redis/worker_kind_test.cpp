// Workers for Redis that a file of gates describes.
#include <caisson/adapters/redis/client.hpp>
#include <caisson/config/gate_file.hpp>

#include <support/described_rows.hpp>
#include <support/problem_texts.hpp>
#include <support/source_dir.hpp>
#include <support/toml_texts.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

struct redis_kind : testing::Test {
  redis_kind() { names.add_kind(redis_worker_kind()); }

  gate_file read(const std::string& text, problems& found) {
    return read_gates(parsed(text), names, found, sys);
  }

  std::vector<std::string> complaints(const std::string& worker) {
    problems found;
    static_cast<void>(
      read("[gates.a]\nworker = { kind = 'redis', " + worker + " }\n", found));
    return kinds_and_keys(found);
  }

  system_config cfg;
  caf::actor_system sys{cfg};
  worker_names names;
};

TEST_F(redis_kind, has_all_settings_of_the_worker) {
  problems found;
  auto file = read(table_of("redis", redis_worker_kind().rows()), found);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(file.gates.size(), 1u);
}

TEST_F(redis_kind, is_as_the_documentation_says) {
  ::setenv("CART_PASSWORD", "a", 1);
  ::setenv("ORDERS_PASSWORD", "b", 1);
  problems found;
  auto path = source_path("demos/examples/servers.toml");
  auto file = read(region_of(path, "redis"), found);
  EXPECT_EQ(to_text(found), "");
  ASSERT_EQ(file.gates.size(), 1u);
  auto behind = worker_of(file.gates.begin()->second, names, sys);
  EXPECT_TRUE(behind.is_supervised());
}

TEST_F(redis_kind, reports_what_the_worker_would_refuse) {
  using texts = std::vector<std::string>;
  EXPECT_EQ(
    complaints("port = 0, user = 'me'"),
    (texts{"range gates.a.worker.port", "relation gates.a.worker.user"}));
  EXPECT_EQ(complaints("user = 'me', password_env = 'CAISSON_NO_SUCH'"),
            (texts{"unknown gates.a.worker.password_env"}));
}

} // namespace
} // namespace caisson::test
