// Files that are written as a whole or not at all, and the progress bar.
#include <support/scratch.hpp>

#include <simulator/play/output_file.hpp>
#include <simulator/play/progress.hpp>

#include <caisson/settings.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::size_t files_in(const test::scratch_dir& dir) {
  return static_cast<std::size_t>(std::distance(
    fs::directory_iterator{dir.path()}, fs::directory_iterator{}));
}

std::string refusal(const fs::path& path) {
  std::ostringstream standard;
  try {
    output_file file{path, standard};
    return "no refusal";
  } catch (const config_error& e) {
    return e.what();
  }
}

// -- files --------------------------------------------------------------------

TEST(output_file, appears_as_a_whole) {
  test::scratch_dir dir;
  std::ostringstream standard;
  output_file file{dir / "a", standard};
  file.stream() << "new\n";
  EXPECT_FALSE(fs::exists(dir / "a"));
  file.commit();
  EXPECT_EQ(test::text_of(dir / "a"), "new\n");
  EXPECT_EQ(files_in(dir), 1U);
  EXPECT_EQ(standard.str(), "");
}

TEST(output_file, leaves_what_is_there_without_a_commit) {
  test::scratch_dir dir;
  auto path = dir.write("a", "old\n");
  std::ostringstream standard;
  {
    output_file file{path, standard};
    file.stream() << "new\n" << std::flush;
    EXPECT_EQ(test::text_of(path), "old\n");
  }
  EXPECT_EQ(test::text_of(path), "old\n");
  EXPECT_EQ(files_in(dir), 1U);
}

TEST(output_file, keeps_the_permissions_of_what_it_replaces) {
  test::scratch_dir dir;
  auto path = dir.write("a", "old\n");
  fs::permissions(path, fs::perms{0640});
  std::ostringstream standard;
  output_file file{path, standard};
  file.commit();
  EXPECT_EQ(test::text_of(path), "");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0640});
}

TEST(output_file, may_be_read_by_whom_new_files_may_be_read) {
  test::scratch_dir dir;
  auto usual = dir.write("usual", "");
  std::ostringstream standard;
  output_file file{dir / "a", standard};
  file.commit();
  EXPECT_EQ(fs::status(dir / "a").permissions(),
            fs::status(usual).permissions());
}

TEST(output_file, follows_a_link) {
  test::scratch_dir dir;
  auto path = dir.write("a", "old\n");
  fs::create_symlink(path, dir / "link");
  std::ostringstream standard;
  output_file file{dir / "link", standard};
  file.stream() << "new\n";
  file.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(test::text_of(path), "new\n");
}

// Also to what is not there yet: the link stays one.
TEST(output_file, follows_a_link_to_nothing) {
  test::scratch_dir dir;
  fs::create_symlink("there", dir / "link");
  fs::create_symlink(dir / "link", dir / "link2");
  std::ostringstream unused;
  output_file file{dir / "link2", unused};
  file.stream() << "new";
  file.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "link2"));
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(test::text_of(dir / "there"), "new");
}

TEST(output_file, a_link_to_itself_leads_nowhere) {
  test::scratch_dir dir;
  fs::create_symlink(dir / "loop", dir / "loop");
  std::ostringstream unused;
  EXPECT_THROW(output_file(dir / "loop", unused), config_error);
  (void)place_of_output(dir / "loop");
}

TEST(output_file, can_be_standard_output) {
  std::ostringstream standard;
  output_file file{"-", standard};
  file.stream() << "text";
  file.commit();
  EXPECT_EQ(standard.str(), "text");
  EXPECT_FALSE(fs::exists("-"));
}

TEST(output_file, says_why_it_cannot_be_written) {
  test::scratch_dir dir;
  auto file = dir.write("file", "");
  EXPECT_EQ(refusal(dir / "none/a"),
            (dir / "none/a").string()
              + ": cannot be written: No such file or directory");
  EXPECT_EQ(refusal(dir.path()),
            dir.path().string() + ": cannot be written: Is a directory");
  EXPECT_EQ(refusal(file / "a"),
            (file / "a").string() + ": cannot be written: Not a directory");
  EXPECT_EQ(files_in(dir), 1U);
}

TEST(output_file, says_when_the_device_is_full) {
  std::ostringstream standard;
  output_file file{"/dev/full", standard};
  file.stream() << "text";
  try {
    file.commit();
    FAIL() << "there is no room, but nothing was said";
  } catch (const config_error& e) {
    EXPECT_STREQ(e.what(),
                 "/dev/full: cannot be written: No space left on device");
  }
}

TEST(flush_error, says_why_a_stream_could_not_be_written) {
  std::ostringstream good;
  good << "text";
  EXPECT_EQ(flush_error(good), std::nullopt);
  std::ofstream full{"/dev/full"};
  full << "text";
  EXPECT_EQ(flush_error(full), ENOSPC);
  EXPECT_FALSE(full);
  EXPECT_EQ(cannot_be_written(ENOSPC),
            "cannot be written: No space left on device");
}

// -- progress -----------------------------------------------------------------

const progress_step naive{"naive", 1, 3, 7};

TEST(progress_line, reports_the_arm_the_share_and_the_rest) {
  EXPECT_EQ(progress_line(naive, 0.525, 10s),
            "naive (2/3, seed 7)  [##########..........]  52 %  10 s left");
  EXPECT_EQ(progress_line(naive, 0, 0s),
            "naive (2/3, seed 7)  [....................]  0 %");
  EXPECT_EQ(progress_line(naive, 1, 10s),
            "naive (2/3, seed 7)  [####################]  100 %  0 s left");
  EXPECT_EQ(progress_line(naive, 7, 100ms),
            "naive (2/3, seed 7)  [####################]  100 %");
}

TEST(progress_line, reports_how_many_workers_are_connected) {
  auto step = naive;
  step.workers = 0;
  EXPECT_EQ(progress_line(step, 0, 0s),
            "naive (2/3, seed 7, 0 workers)  [....................]  0 %");
  step.workers = 1;
  EXPECT_EQ(progress_line(step, 0, 0s),
            "naive (2/3, seed 7, 1 worker)  [....................]  0 %");
}

TEST(progress_line, does_not_guess_too_early_and_knows_minutes) {
  EXPECT_EQ(progress_line(naive, 0.009, 10s),
            "naive (2/3, seed 7)  [....................]  0 %");
  EXPECT_EQ(progress_line(naive, 0.5, 499ms),
            "naive (2/3, seed 7)  [##########..........]  50 %");
  EXPECT_EQ(progress_line(naive, 0.5, 119s),
            "naive (2/3, seed 7)  [##########..........]  50 %  119 s left");
  EXPECT_EQ(progress_line(naive, 0.5, 121s),
            "naive (2/3, seed 7)  [##########..........]  50 %  3 min left");
}

TEST(progress_line, gives_up_what_does_not_fit) {
  auto line = [](std::size_t columns) {
    return progress_line(naive, 0.525, 10s, columns);
  };
  EXPECT_EQ(line(61),
            "naive (2/3, seed 7)  [##########..........]  52 %  10 s left");
  EXPECT_EQ(line(60), "naive (2/3, seed 7)  [#####.....]  52 %");
  EXPECT_EQ(line(40), "naive (2/3, seed 7)  [#####.....]  52 %");
  EXPECT_EQ(line(39), "naive (2/3, seed 7)  52 %");
  EXPECT_EQ(line(25), "[#####.....]  52 %");
  EXPECT_EQ(line(18), "52 %");
  EXPECT_EQ(line(5), "52 %");
  EXPECT_EQ(line(4), "");
}

TEST(progress_line, is_always_narrower_than_the_terminal) {
  const progress_step step{std::string_view{"a-name-of-thirty-characters-aa"},
                           999, 1000, ~std::uint64_t{0}};
  for (std::size_t columns = 1; columns < 120; ++columns)
    EXPECT_LT(progress_line(step, 0.5, 10s, columns).size(), columns);
}

TEST(columns_of, follows_the_environment_and_knows_a_usual_width) {
  auto of = [](const char* text) {
    setenv("COLUMNS", text, 1);
    auto n = columns_of(-1);
    unsetenv("COLUMNS");
    return n;
  };
  EXPECT_EQ(of("33"), 33U);
  EXPECT_EQ(of("0"), 80U);
  EXPECT_EQ(of("wide"), 80U);
  EXPECT_EQ(of(""), 80U);
}

class progress_bar_test : public testing::Test {
protected:
  progress_bar::clock::time_point now{};
  std::ostringstream out;
  std::size_t width = 80;
  std::function<progress_bar::clock::time_point()> clock = [this] {
    return now;
  };
  std::function<std::size_t()> columns = [this] { return width; };
};

TEST_F(progress_bar_test, draws_ten_times_a_second_and_clears_its_line) {
  {
    progress_bar bar{out, true, columns, clock};
    bar.show(naive, 0);
    now += 99ms;
    bar.show(naive, 0.1);
    now += 1ms;
    bar.show(naive, 0.25);
  }
  EXPECT_EQ(out.str(),
            "\r\x1b[Knaive (2/3, seed 7)  [....................]  0 %"
            "\r\x1b[Knaive (2/3, seed 7)  [#####...............]  25 %"
            "\r\x1b[K");
}

TEST_F(progress_bar_test, draws_nothing_if_it_is_not_wanted) {
  {
    progress_bar bar{out, false, columns, clock};
    bar.show(naive, 0.5);
  }
  EXPECT_EQ(out.str(), "");
}

TEST_F(progress_bar_test, follows_the_width_of_its_terminal) {
  progress_bar bar{out, true, columns, clock};
  width = 10;
  bar.show(naive, 0.25);
  width = 3;
  now += 100ms;
  bar.show(naive, 0.5);
  EXPECT_EQ(out.str(), "\r\x1b[K25 %\r\x1b[K");
}

TEST_F(progress_bar_test, clears_only_what_it_has_drawn) {
  { progress_bar bar{out, true, columns, clock}; }
  EXPECT_EQ(out.str(), "");
}

} // namespace
} // namespace caisson::sim
