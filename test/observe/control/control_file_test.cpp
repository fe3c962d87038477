// The file by which an operator's command finds a program.
#include <caisson/observe/control/control_file.hpp>

#include <support/scratch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using detail::control_address;
using detail::control_file;
namespace fs = std::filesystem;

class control_file_test : public testing::Test {
protected:
  [[nodiscard]] std::string path() const { return (dir / "control").string(); }

  std::string why_not_read() const {
    try {
      auto x = detail::read_control_file(path());
      return x.token;
    } catch (const std::runtime_error& e) {
      return std::string{e.what()}.substr(path().size() + 2);
    }
  }

  std::string creation_result() const {
    try {
      control_file x{path(), {1, "t", 1, 2s}};
      return "made";
    } catch (const std::runtime_error& e) {
      return std::string{e.what()}.substr(path().size() + 2);
    }
  }

  scratch_dir dir;
};

TEST_F(control_file_test, says_where_and_with_which_token) {
  {
    control_file x{path(), {4711, "abc", 99, 7s}};
    auto got = detail::read_control_file(path());
    EXPECT_EQ(got.port, 4711);
    EXPECT_EQ(got.token, "abc");
    EXPECT_EQ(got.process, 99);
    EXPECT_EQ(got.patience, 7s);
    EXPECT_EQ(fs::status(path()).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(std::distance(fs::directory_iterator{dir.path()}, {}), 1);
  }
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(control_file_test, of_a_program_that_runs_stays) {
  control_file x{path(), {4711, "abc", 99, 7s}};
  EXPECT_EQ(creation_result(), "is the control file of process 99, which runs");
  EXPECT_EQ(detail::read_control_file(path()).token, "abc");
}

TEST_F(control_file_test, that_was_left_behind_is_replaced) {
  {
    control_file x{path(), {4711, "abc", 99, 7s}};
    fs::copy(path(), dir / "copy");
  }
  fs::rename(dir / "copy", path());
  EXPECT_EQ(creation_result(), "made");
  dir.write("control", ""); // As after a full disk.
  EXPECT_EQ(creation_result(), "made");
}

TEST_F(control_file_test, something_else_is_left_alone) {
  for (const auto* text :
       {"precious", "{}", "[]", R"({"kind":"caisson control"})",
        R"({"kind":"caisson control","port":0,"token":"x","process":1})",
        R"({"kind":"caisson control","port":70000,"token":"x","process":1})",
        R"({"kind":"caisson control","port":-1,"token":"x","process":1})",
        R"({"kind":"caisson control","port":1,"token":"","process":1})",
        R"({"kind":"caisson control","port":1,"token":7,"process":1})",
        R"({"kind":7,"port":1,"token":"x","process":1,"patience":"1s"})",
        R"({"kind":"caisson control","port":1,"token":"x","process":1,
            "patience":"soon"})",
        R"({"kind":"caisson control","port":1,"token":"x","process":1,
            "patience":1})"}) {
    dir.write("control", text);
    EXPECT_EQ(creation_result(),
              "exists and is not a control file: choose another path")
      << text;
    EXPECT_EQ(why_not_read(),
              "is not a control file: name the one that the program writes")
      << text;
    EXPECT_EQ(text_of(path()), text);
  }
}

TEST_F(control_file_test, cannot_be_a_directory_or_a_link) {
  fs::create_directory(path());
  EXPECT_EQ(creation_result(), "is not a regular file: choose another path");
  EXPECT_EQ(why_not_read(),
            "is not a regular file: name the one that the program writes");
  fs::remove(path());
  dir.write("target", "precious");
  fs::create_symlink(dir / "target", path());
  EXPECT_NE(creation_result(), "made");
  EXPECT_EQ(text_of(dir / "target"), "precious");
  // An empty file would be replaced.
  dir.write("target", "");
  EXPECT_NE(creation_result(), "made");
}

TEST_F(control_file_test, in_a_directory_that_does_not_exist) {
  try {
    control_file x{(dir / "none" / "control").string(), {1, "t", 1, 2s}};
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string{e.what()}.find("No such file"), std::string::npos);
  }
  EXPECT_EQ(why_not_read(), "cannot be opened: No such file or directory");
}

TEST_F(control_file_test, that_others_can_read_is_not_used) {
  control_file x{path(), {4711, "abc", 99, 7s}};
  for (auto mode : {0640, 0604, 0620, 0602, 0666}) {
    ASSERT_EQ(chmod(path().c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_NE(why_not_read().find("its token is not secret"),
              std::string::npos);
  }
  ASSERT_EQ(chmod(path().c_str(), 0400), 0);
  EXPECT_EQ(why_not_read(), "abc");
}

TEST_F(control_file_test, of_several_at_the_same_time_one_is_made) {
  for (int round = 0; round < 200; ++round) {
    // Every other time one has been left behind.
    if (round % 2 == 0) {
      control_file x{path(), {1, "left", 1, 2s}};
      fs::copy(path(), dir / "copy");
    }
    if (round % 2 == 0)
      fs::rename(dir / "copy", path());
    std::atomic<int> files{0};
    std::atomic<int> tried{0};
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i)
      all.emplace_back([&, i] {
        std::optional<control_file> file;
        try {
          file.emplace(path(), control_address{1, std::to_string(i), i, 2s});
          ++files;
        } catch (const std::runtime_error&) {
        }
        // Nobody goes before all have tried.
        ++tried;
        while (tried < 4)
          std::this_thread::yield();
        if (!file)
          return;
        EXPECT_EQ(detail::read_control_file(path()).token, std::to_string(i));
      });
    for (auto& x : all)
      x.join();
    EXPECT_EQ(files, 1);
    EXPECT_EQ(std::distance(fs::directory_iterator{dir.path()}, {}), 0);
  }
}

TEST_F(control_file_test, another_ones_is_not_removed) {
  {
    control_file x{path(), {4711, "abc", 99, 7s}};
    fs::remove(path());
    dir.write("control", "of another one");
  }
  EXPECT_EQ(text_of(path()), "of another one");
}

TEST(control_tokens, are_long_and_all_different) {
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    auto x = detail::new_token();
    EXPECT_EQ(x.size(), 32u);
    EXPECT_EQ(x.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(x).second);
  }
}

TEST(control_tokens, are_equal_in_all_bytes_or_not) {
  EXPECT_TRUE(detail::same_token("", ""));
  EXPECT_TRUE(detail::same_token("abc", "abc"));
  for (const auto* x : {"", "ab", "abcd", "abd", "bbc", "ABC"})
    EXPECT_FALSE(detail::same_token("abc", x)) << x;
}

} // namespace
} // namespace caisson::test
