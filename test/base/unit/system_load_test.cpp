// The load of made-up machines: files below a folder of the test.
#include <caisson/base/system_load.hpp>
#include <caisson/policy/load_source.hpp>

#include <support/scratch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class made_up_machine {
public:
  void write(const std::string& path, const std::string& text) {
    auto at = std::filesystem::path{dir_.path()} / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream{at} << text;
  }

  // So many ticks of two CPUs, of each kind.
  void cpus(std::int64_t user, std::int64_t idle, std::int64_t wait = 0,
            std::int64_t stolen = 0) {
    write("proc/stat", "cpu  " + std::to_string(user) + " 0 0 "
                         + std::to_string(idle) + " " + std::to_string(wait)
                         + " 0 0 " + std::to_string(stolen)
                         + " 7 7\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n");
  }

  void memory(std::int64_t all, std::int64_t left) {
    write("proc/meminfo", "MemTotal:    " + std::to_string(all)
                            + " kB\nMemFree:   1 kB\nMemAvailable: "
                            + std::to_string(left) + " kB\n");
  }

  [[nodiscard]] std::string root() const { return dir_.path(); }

private:
  scratch_dir dir_;
};

// Two readings, a second apart.
template <class F>
load_reading second_reading(made_up_machine& m, F between) {
  system_load x{m.root()};
  EXPECT_FALSE(x.read(time_point{} + 1h).cpu);
  between();
  return x.read(time_point{} + 1h + 1s);
}

TEST(system_load, is_unknown_without_files) {
  made_up_machine m;
  auto x = second_reading(m, [] {});
  EXPECT_FALSE(x.cpu);
  EXPECT_FALSE(x.memory);
}

TEST(system_load, is_that_of_the_machine_without_a_cgroup) {
  made_up_machine m;
  m.cpus(1'000, 5'000);
  m.memory(1'000, 250);
  auto x = second_reading(m, [&] { m.cpus(1'150, 5'050); });
  ASSERT_TRUE(x.cpu);
  EXPECT_NEAR(*x.cpu, 0.75, 1e-9);
  ASSERT_TRUE(x.memory);
  EXPECT_NEAR(*x.memory, 0.75, 1e-9);
}

TEST(system_load, counts_waiting_as_idle_and_stolen_time_as_used) {
  made_up_machine m;
  m.cpus(0, 0, 0, 0);
  auto x = second_reading(m, [&] { m.cpus(10, 20, 120, 50); });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.3, 1e-9);
}

TEST(system_load, counts_the_cpus_of_the_largest_machines) {
  made_up_machine m;
  auto with = [](int used) {
    auto text = "cpu " + std::to_string(used) + " 0 0 0 0 0 0 0\n";
    for (int i = 0; i < 8'192; ++i)
      text += "cpu" + std::to_string(i) + " 123456789 0 0 987654321 0 0 0 0\n";
    return text;
  };
  m.write("proc/stat", with(0));
  auto x = second_reading(m, [&] { m.write("proc/stat", with(409'600)); });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.5, 1e-9);
}

TEST(system_load, is_that_of_a_cgroup_of_version_2_with_limits) {
  made_up_machine m;
  m.cpus(1'000, 5'000);
  m.memory(1'000'000, 900'000);
  m.write("proc/self/cgroup", "0::/a/b\n");
  m.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  m.write("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 7000000\nuser_usec 1\n");
  m.write("sys/fs/cgroup/a/b/memory.max", "1000000\n");
  m.write("sys/fs/cgroup/a/b/memory.current", "900000\n");
  m.write("sys/fs/cgroup/a/b/memory.stat",
          "anon 500000\ninactive_file 100000\nactive_file 200000\n");
  auto x = second_reading(
    m, [&] { m.write("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 7400000\n"); });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.8, 1e-9);
  EXPECT_NEAR(x.memory.value_or(-1), 0.6, 1e-9);
}

TEST(system_load, is_that_of_a_cgroup_of_version_1_with_limits) {
  made_up_machine m;
  m.memory(1'000'000, 900'000);
  m.write("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/x\n0::/x\n");
  for (std::string name : {"cpu", "cpuacct"}) {
    auto at = "sys/fs/cgroup/" + name + "/x/";
    m.write(at + "cpu.cfs_quota_us", "200000\n");
    m.write(at + "cpu.cfs_period_us", "100000\n");
    m.write(at + "cpuacct.usage", "5000000000\n");
  }
  m.write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n");
  m.write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "800\n");
  m.write("sys/fs/cgroup/memory/x/memory.stat",
          "inactive_file 700\ntotal_inactive_file 300\n");
  auto x = second_reading(m, [&] {
    m.write("sys/fs/cgroup/cpuacct/x/cpuacct.usage", "6000000000\n");
  });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.5, 1e-9);
  EXPECT_NEAR(x.memory.value_or(-1), 0.5, 1e-9);
}

TEST(system_load, is_that_of_the_machine_if_a_cgroup_has_no_limits) {
  made_up_machine m;
  m.cpus(0, 0);
  m.memory(1'000, 900);
  m.write("proc/self/cgroup", "0::/a\n");
  m.write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  m.write("sys/fs/cgroup/a/cpu.stat", "usage_usec 1\n");
  m.write("sys/fs/cgroup/a/memory.max", "max\n");
  m.write("sys/fs/cgroup/a/memory.current", "900000\n");
  auto x = second_reading(m, [&] { m.cpus(50, 150); });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.25, 1e-9);
  EXPECT_NEAR(x.memory.value_or(-1), 0.1, 1e-9);
  // Version 1 has numbers for that.
  m.write("proc/self/cgroup", "1:cpu,cpuacct:/\n2:memory:/\n");
  m.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  m.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  m.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "1\n");
  m.write("sys/fs/cgroup/memory/memory.limit_in_bytes",
          "9223372036854771712\n");
  m.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n");
  m.cpus(0, 0);
  x = second_reading(m, [&] { m.cpus(50, 150); });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.25, 1e-9);
  EXPECT_NEAR(x.memory.value_or(-1), 0.1, 1e-9);
}

TEST(system_load, heeds_the_limits_of_the_cgroups_above) {
  made_up_machine m;
  m.write("proc/self/cgroup", "0::/a/b\n");
  m.write("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  m.write("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 0\n");
  m.write("sys/fs/cgroup/a/b/memory.max", "1000\n");
  m.write("sys/fs/cgroup/a/b/memory.current", "100\n");
  m.write("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  m.write("sys/fs/cgroup/a/cpu.stat", "usage_usec 0\n");
  m.write("sys/fs/cgroup/a/memory.max", "2000\n");
  m.write("sys/fs/cgroup/a/memory.current", "1800\n");
  auto x = second_reading(
    m, [&] { m.write("sys/fs/cgroup/a/cpu.stat", "usage_usec 900000\n"); });
  EXPECT_NEAR(x.cpu.value_or(-1), 0.9, 1e-9);
  EXPECT_NEAR(x.memory.value_or(-1), 0.9, 1e-9);
}

// A container sees the path that the machine outside has.
TEST(system_load, takes_the_first_folder_if_its_own_is_not_there) {
  for (std::string path : {"/docker/123", "/../../x", "/", "", "no path"}) {
    made_up_machine m;
    m.write("proc/self/cgroup", "0::" + path + "\n");
    m.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
    m.write("sys/fs/cgroup/cpu.stat", "usage_usec 0\n");
    auto x = second_reading(
      m, [&] { m.write("sys/fs/cgroup/cpu.stat", "usage_usec 250000\n"); });
    EXPECT_NEAR(x.cpu.value_or(-1), 0.25, 1e-9) << path;
  }
}

TEST(system_load, begins_anew_when_the_quota_changes) {
  made_up_machine m;
  m.write("proc/self/cgroup", "0::/\n");
  m.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  m.write("sys/fs/cgroup/cpu.stat", "usage_usec 0\n");
  auto x = second_reading(
    m, [&] { m.write("sys/fs/cgroup/cpu.max", "200000 100000\n"); });
  EXPECT_FALSE(x.cpu);
}

TEST(system_load, does_not_believe_absurd_contents) {
  const std::string absurd[] = {
    "",
    "\n\n",
    "cpu",
    "cpu 1 2\n",
    "cpu -1 -2 -3 -4 -5 -6 -7 -8\n",
    "cpu 99999999999999999999999 1 1 1\n",
    "cpu a b c d e f g h\n",
    "max",
    "max max",
    "-1 -1",
    "0 0",
    "0 100000",
    "100000 0",
    "100000",
    "1e5 1e5",
    "usage_usec",
    "usage_usec x",
    "usage_usec -5",
    "MemTotal: 0 kB\nMemAvailable: 5 kB\n",
    "MemTotal: 5 kB\n",
    "MemTotal: -5 kB\nMemAvailable: 5 kB\n",
    ":::::",
    "0:",
    "0::/\n0::/\n0::/\n",
    std::string(200'000, '/'),
    "0::" + std::string(60'000, '/'),
    std::string("\0\0\xff", 3),
  };
  const std::string files[] = {
    "proc/stat",
    "proc/meminfo",
    "proc/self/cgroup",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu.stat",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.current",
    "sys/fs/cgroup/memory.stat",
  };
  for (const auto& file : files) {
    made_up_machine m;
    m.cpus(0, 0);
    m.memory(1'000, 500);
    m.write("proc/self/cgroup", "0::/\n");
    m.write("sys/fs/cgroup/cpu.max", "100000 100000\n");
    m.write("sys/fs/cgroup/cpu.stat", "usage_usec 0\n");
    m.write("sys/fs/cgroup/memory.max", "1000\n");
    m.write("sys/fs/cgroup/memory.current", "500\n");
    for (const auto& text : absurd) {
      m.write(file, text);
      auto x = second_reading(m, [] {});
      EXPECT_LE(x.cpu.value_or(0), 0) << file << ": " << text.substr(0, 50);
      auto memory = x.memory.value_or(0);
      EXPECT_TRUE(memory >= 0 && memory <= 1)
        << file << ": " << text.substr(0, 50) << ": " << memory;
    }
  }
}

// The clock of one caller may be far from that of another one.
TEST(system_load, of_the_process_is_read_by_the_real_clock) {
  auto load = process_load();
  load->read(time_point{} + 1'000'000h, duration::zero());
  auto end = std::chrono::steady_clock::now() + 10s;
  std::optional<double> cpu;
  while (!cpu && std::chrono::steady_clock::now() < end)
    cpu = load->read(time_point{} + 1h, 1ms).cpu;
  EXPECT_TRUE(cpu);
}

TEST(system_load, is_between_none_and_all_on_this_machine) {
  system_load x;
  auto now = time_point{} + 1h;
  EXPECT_FALSE(x.read(now).cpu);
  auto y = x.read(now + 1h);
  EXPECT_FALSE(y.cpu) << "a difference over an hour";
  EXPECT_GE(y.memory.value_or(0), 0);
  EXPECT_LE(y.memory.value_or(0), 1);
}

} // namespace
} // namespace caisson::test
