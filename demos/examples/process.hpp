// A second process of the same program, for demos with several nodes.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace demo {

/// This program, started again with other arguments. Its standard input ends
/// when this object or this process does; `read_line` reads what it prints.
/// The destructor kills it, so that none is left behind.
class process {
public:
  template <class... Ts>
  explicit process(const Ts&... args) {
    std::vector<std::string> words{"/proc/self/exe", args...};
    int in[2];
    int out[2];
    // Not inherited: a pipe only ends when nobody else has its other side.
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error{"no pipe"};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (auto& x : words)
      argv.push_back(x.data());
    argv.push_back(nullptr);
    auto failed = posix_spawn(&id_, argv[0], &actions, nullptr, argv.data(),
                              environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (failed != 0)
      throw std::runtime_error{"cannot start " + words[0]};
  }

  process(const process&) = delete;
  process& operator=(const process&) = delete;

  ~process() {
    kill();
    close(to_);
    close(from_);
  }

  /// The next line it prints; empty once it prints no more.
  std::string read_line() {
    std::string line;
    for (char c = 0; read(from_, &c, 1) == 1 && c != '\n';)
      line += c;
    return line;
  }

  /// Ends it without giving it a chance to say goodbye, as kill -9 does.
  void kill() {
    if (id_ > 0)
      ::kill(id_, SIGKILL);
    wait();
  }

  /// Waits until it has ended; returns its exit code, or -1 if it was killed.
  int wait() {
    auto status = 0;
    if (id_ > 0 && waitpid(std::exchange(id_, -1), &status, 0) > 0)
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code_;
  }

private:
  pid_t id_ = -1;
  int to_ = -1;
  int from_ = -1;
  int code_ = -1;
};

} // namespace demo
