// A server as a process of its own, which a test kills, stops and starts again.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::test {

/// As /proc says: `R`, `S`, `T` (stopped), `Z` (ended); 0 if there is none.
inline char state_of_process(pid_t id) {
  std::ifstream in{"/proc/" + std::to_string(id) + "/stat"};
  std::string all{std::istreambuf_iterator<char>{in}, {}};
  auto name_end = all.rfind(") ");
  return name_end == std::string::npos ? '\0' : all[name_end + 2];
}

/// Waits until the process is in one of these states or gone, at most 10 s.
/// Returns false if it is not.
inline bool await_state(pid_t id, std::string_view states) {
  for (int i = 0; i < 2'000; ++i) {
    auto now = state_of_process(id);
    if (now == '\0' || states.find(now) != std::string_view::npos)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// A process that ends with this object. What it prints goes to a file.
class server_process {
public:
  /// `user`: as whom to run, if this process is root's; empty: as itself.
  server_process(std::vector<std::string> words, const std::string& log,
                 const std::string& user = {}) {
    std::vector<char*> argv;
    for (auto& x : words)
      argv.push_back(x.data());
    argv.push_back(nullptr);
    auto* account = user.empty() || ::geteuid() != 0 ? nullptr
                                                     : ::getpwnam(user.c_str());
    // A shell's background jobs ignore it, and so would the process until it
    // has begun: a signal before that would be lost.
    ::signal(SIGQUIT, SIG_DFL);
    id_ = ::fork();
    if (id_ < 0)
      throw std::runtime_error{"no process"};
    if (id_ == 0) {
      auto out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(out, STDERR_FILENO);
      if (account
          && (::setgroups(0, nullptr) != 0 || ::setgid(account->pw_gid) != 0
              || ::setuid(account->pw_uid) != 0))
        ::_exit(126);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
  }

  ~server_process() { end(SIGKILL); }

  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }

  void signal(int what) const {
    if (id_ > 0)
      ::kill(id_, what);
  }

  /// Sends the signal, and waits until it has ended; returns its exit code, or
  /// -1 if it was killed.
  int end(int what) {
    signal(what);
    return wait();
  }

  int wait() {
    auto status = 0;
    if (id_ > 0 && ::waitpid(std::exchange(id_, -1), &status, 0) > 0)
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code_;
  }

private:
  pid_t id_ = -1;
  int code_ = -1;
};

/// A directory that is removed with this object. It lies in `$TMPDIR`, or in
/// /tmp.
class scratch_dir {
public:
  explicit scratch_dir(const std::string& user = {}) {
    auto* where = std::getenv("TMPDIR");
    auto name = std::string{where ? where : "/tmp"} + "/caisson-test-XXXXXX";
    if (!::mkdtemp(name.data()))
      throw std::runtime_error{"no directory"};
    path_ = name;
    if (auto* account = user.empty() || ::geteuid() != 0
                          ? nullptr
                          : ::getpwnam(user.c_str()))
      if (::chown(name.c_str(), account->pw_uid, account->pw_gid) != 0)
        throw std::runtime_error{"cannot give " + name + " away"};
  }

  ~scratch_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  scratch_dir(const scratch_dir&) = delete;
  scratch_dir& operator=(const scratch_dir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

} // namespace caisson::test
