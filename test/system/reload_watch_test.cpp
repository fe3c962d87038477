// Reasons for a reload: signals and changes of the file.
#include <caisson/config/reload_watch.hpp>

#include <support/real_gates.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include <unistd.h>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class watched_reload : public real_gates {
protected:
  void SetUp() override {
    write(text_with(1));
    gates = spawn_gates(*sys, dir / "gates.toml", names);
  }

  void TearDown() override { gates = {}; }

  static std::string text_with(int threshold) {
    return "[gates.a]\nworker = 'echo'\nlayer = [{ kind = 'breaker', "
           "threshold = "
           + std::to_string(threshold) + " }]\n";
  }

  // Waits until that is the setting.
  void expect(int threshold) {
    auto expected = std::to_string(threshold);
    auto end = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < end) {
      if (now() == expected)
        return;
      std::this_thread::sleep_for(5ms);
    }
    ADD_FAILURE() << "threshold is " << now() << ", not " << expected;
  }

  std::string now() {
    return look(gates.find("a")).layer("breaker").config.at("threshold");
  }

  reload_watch_config only_changes() {
    return {.on_hangup = false, .debounce = 20ms};
  }
};

TEST_F(watched_reload, on_a_signal) {
  reload_watch watch{
    gates.controller(), dir / "gates.toml", {.on_change = false}};
  write(text_with(2));
  std::raise(SIGHUP);
  expect(2);
  write(text_with(3));
  std::raise(SIGHUP);
  expect(3);
}

TEST_F(watched_reload, one_watch_has_the_signal_until_its_end) {
  {
    reload_watch watch{
      gates.controller(), dir / "gates.toml", {.on_change = false}};
    EXPECT_THROW((reload_watch{gates.controller(), dir / "gates.toml", {}}),
                 std::system_error);
  }
  reload_watch again{
    gates.controller(), dir / "gates.toml", {.on_change = false}};
  write(text_with(2));
  std::raise(SIGHUP);
  expect(2);
}

TEST_F(watched_reload, when_the_file_is_written) {
  reload_watch watch{gates.controller(), dir / "gates.toml", only_changes()};
  write(text_with(2));
  expect(2);
  write(text_with(3));
  expect(3);
}

TEST_F(watched_reload, when_another_file_is_put_in_its_place) {
  reload_watch watch{gates.controller(), dir / "gates.toml", only_changes()};
  for (int n = 2; n < 5; ++n) {
    auto fresh = dir.write("gates.toml.new", text_with(n));
    std::filesystem::rename(fresh, dir / "gates.toml");
    expect(n);
  }
}

TEST_F(watched_reload, when_it_was_written_before_the_watch) {
  write(text_with(2));
  reload_watch watch{gates.controller(), dir / "gates.toml", only_changes()};
  expect(2);
}

TEST_F(watched_reload, a_bad_file_is_left_for_the_next_good_one) {
  reload_watch watch{gates.controller(), dir / "gates.toml", only_changes()};
  write(text_with(0));
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(now(), "1");
  write(text_with(3));
  expect(3);
}

TEST_F(watched_reload, when_it_is_removed_and_made_again) {
  reload_watch watch{gates.controller(), dir / "gates.toml", only_changes()};
  std::filesystem::remove(dir / "gates.toml");
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(now(), "1");
  write(text_with(2));
  expect(2);
}

TEST_F(watched_reload, when_a_link_to_it_changes) {
  dir.write("one", text_with(1));
  dir.write("two", text_with(2));
  std::filesystem::remove(dir / "gates.toml");
  std::filesystem::create_symlink("one", dir / "gates.toml");
  reload_watch watch{gates.controller(), dir / "gates.toml", only_changes()};
  std::filesystem::create_symlink("two", dir / "new");
  std::filesystem::rename(dir / "new", dir / "gates.toml");
  expect(2);
}

TEST_F(watched_reload, in_a_directory_that_is_not_there) {
  EXPECT_THROW(
    (reload_watch{gates.controller(), dir / "no/gates.toml", only_changes()}),
    std::system_error);
  EXPECT_THROW(
    (reload_watch{gates.controller(), dir / "gates.toml", {.debounce = 0ms}}),
    config_error);
}

// Counts the reloads that are asked for, in place of a set of gates.
caf::actor count_reloads(caf::actor_system& sys, std::atomic<int>& asked) {
  return sys.spawn([&asked](caf::event_based_actor*) -> caf::behavior {
    return {[&asked](const reload&) { ++asked; }};
  });
}

// Waits until at least so many were.
void await_reloads(const std::atomic<int>& asked, int n) {
  auto end = std::chrono::steady_clock::now() + 20s;
  while (asked < n && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(5ms);
  EXPECT_GE(asked, n);
}

TEST_F(watched_reload, once_for_many_writes) {
  std::atomic<int> asked{0};
  auto counter = count_reloads(*sys, asked);
  {
    reload_watch watch{
      counter, dir / "gates.toml", {.on_hangup = false, .debounce = 300ms}};
    for (int i = 0; i < 50; ++i) {
      write(text_with(i + 2));
      dir.write("another", "x");
      std::this_thread::sleep_for(1ms);
    }
    await_reloads(asked, 1);
    std::this_thread::sleep_for(1200ms);
  }
  EXPECT_EQ(asked, 1);
  stop_gate(counter);
}

TEST_F(watched_reload, at_once_and_once_more_for_many_signals) {
  std::atomic<int> asked{0};
  auto counter = count_reloads(*sys, asked);
  {
    reload_watch watch{
      counter, dir / "gates.toml", {.on_change = false, .debounce = 2s}};
    std::raise(SIGHUP);
    await_reloads(asked, 1);
    for (int i = 0; i < 10'000; ++i)
      std::raise(SIGHUP);
    EXPECT_EQ(asked, 1);
    await_reloads(asked, 2);
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(asked, 2);
  stop_gate(counter);
}

TEST(blocked_hangups, reach_the_watch) {
  sigset_t hangups;
  sigset_t before;
  sigemptyset(&hangups);
  sigaddset(&hangups, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangups, &before);
  {
    scratch_dir dir;
    system_config cfg;
    caf::actor_system sys{cfg};
    std::atomic<int> asked{0};
    auto counter = count_reloads(sys, asked);
    {
      reload_watch watch{counter, dir / "gates.toml", {.on_change = false}};
      kill(getpid(), SIGHUP);
      await_reloads(asked, 1);
    }
    stop_gate(counter);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace
} // namespace caisson::test
