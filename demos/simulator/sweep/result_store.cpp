#include <simulator/sweep/result_store.hpp>

#include <simulator/play/output_file.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/settings/problem.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace caisson::sim {

namespace {

constexpr std::size_t sum_digits = 16;

std::string sum_of(std::string_view key, std::string_view text) {
  return fmt::format(
    "{:016x}", detail::fnv1a(text, detail::fnv1a(' ', detail::fnv1a(key))));
}

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw config_error{{{.kind = problem_kind::syntax,
                       .message = cannot_be_written(error),
                       .place = path.string()}}};
}

} // namespace

result_store::result_store(const std::filesystem::path& directory)
  : path_(directory / "cells") {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    fail(directory, error.value());
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ == -1)
    fail(path_, errno);
  // From a pipe or a device nothing can be read back, or never to an end.
  struct stat found {};
  if (fstat(file_, &found) != 0 || !S_ISREG(found.st_mode)) {
    close(file_);
    throw config_error{{{.kind = problem_kind::syntax,
                         .message = "is not a regular file, which is needed to "
                                    "keep results",
                         .place = path_.string()}}};
  }
  read();
}

result_store::~result_store() {
  close(file_);
}

void result_store::read() {
  std::ifstream in{path_, std::ios::binary};
  const std::string all{std::istreambuf_iterator<char>{in}, {}};
  std::string_view rest = all;
  while (!rest.empty()) {
    auto end = rest.find('\n');
    if (end == rest.npos) {
      // What is added must not stand in the same line.
      ++damaged_;
      write("\n");
      break;
    }
    read_line(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
}

void result_store::read_line(std::string_view line) {
  if (line.empty())
    return;
  // `KEY SUM TEXT`
  auto key = line.substr(0, line.find(' '));
  auto text_at = key.size() + 1 + sum_digits + 1;
  auto whole = line.size() > text_at && line[text_at - 1] == ' ';
  auto text = whole ? line.substr(text_at) : std::string_view{};
  if (whole && line.substr(key.size() + 1, sum_digits) == sum_of(key, text))
    texts_.insert_or_assign(std::string{key}, std::string{text});
  else
    ++damaged_;
}

std::optional<run_result> result_store::find(std::string_view key) const {
  std::lock_guard guard{mutex_};
  auto found = texts_.find(key);
  return found == texts_.end() ? std::nullopt : read_run(found->second);
}

void result_store::add(std::string_view key, const run_result& c) {
  auto text = run_text(c);
  std::lock_guard guard{mutex_};
  write(fmt::format("{} {} {}\n", key, sum_of(key, text), text));
  texts_.insert_or_assign(std::string{key}, std::move(text));
}

void result_store::write(std::string_view text) {
  ssize_t done = -1;
  do
    done = ::write(file_, text.data(), text.size());
  while (done == -1 && errno == EINTR);
  if (done == -1)
    fail(path_, errno);
  if (static_cast<std::size_t>(done) != text.size())
    fail(path_, ENOSPC);
}

std::string run_key(std::uint64_t world, std::string_view arm,
                    std::uint64_t seed) {
  return fmt::format("{:016x}-{:016x}-{}", world, detail::fnv1a(arm), seed);
}

} // namespace caisson::sim
