// Workers for PostgreSQL that a file of gates describes.
#include <caisson/adapters/postgres/client.hpp>
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

struct postgres_kind : testing::Test {
  postgres_kind() { names.add_kind(postgres_worker_kind()); }

  gate_file read(const std::string& text, problems& found) {
    return read_gates(parsed(text), names, found, sys);
  }

  std::vector<std::string> complaints(const std::string& worker) {
    problems found;
    static_cast<void>(read(
      "[gates.a]\nworker = { kind = 'postgres', " + worker + " }\n", found));
    return kinds_and_keys(found);
  }

  system_config cfg;
  caf::actor_system sys{cfg};
  worker_names names;
};

TEST_F(postgres_kind, has_all_settings_of_the_worker) {
  problems found;
  auto file = read(table_of("postgres", postgres_worker_kind().rows()), found);
  EXPECT_EQ(to_text(found), "");
  EXPECT_EQ(file.gates.size(), 1u);
}

TEST_F(postgres_kind, is_as_the_documentation_says) {
  ::setenv("CART_PASSWORD", "a", 1);
  ::setenv("ORDERS_PASSWORD", "b", 1);
  problems found;
  auto path = source_path("demos/examples/servers.toml");
  auto file = read(region_of(path, "postgres"), found);
  EXPECT_EQ(to_text(found), "");
  ASSERT_EQ(file.gates.size(), 1u);
  auto behind = worker_of(file.gates.begin()->second, names, sys);
  EXPECT_TRUE(behind.is_supervised());
}

TEST_F(postgres_kind, reports_what_the_worker_would_refuse) {
  using texts = std::vector<std::string>;
  EXPECT_EQ(complaints("connection = 'hots=x'"),
            (texts{"range gates.a.worker.connection"}));
  EXPECT_EQ(complaints("connection = 'host=x password=a', password = 'b'"),
            (texts{"relation gates.a.worker.password"}));
}

TEST_F(postgres_kind, shows_no_part_of_a_connection_with_a_password) {
  for (const auto* text :
       {"password=a hunter2", "postgresql://me:hunter2@[x/"}) {
    problems found;
    static_cast<void>(read("[gates.a]\nworker = { kind = 'postgres', "
                           "connection = '"
                             + std::string{text} + "' }\n",
                           found));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(to_text(found).find("hunter2"), std::string::npos)
      << to_text(found);
  }
}

} // namespace
} // namespace caisson::test
