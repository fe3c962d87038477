#include <simulator/play/output_file.hpp>

#include <simulator/play/interruption.hpp>

#include <caisson/settings.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace caisson::sim {

namespace fs = std::filesystem;

namespace {

// What a file gets that is newly made: there is no other way to ask.
mode_t usual_mode() {
  auto mask = umask(0);
  umask(mask);
  return static_cast<mode_t>(0666 & ~mask);
}

} // namespace

output_file::output_file(fs::path target, std::ostream& standard_output)
  : target_(std::move(target)) {
  if (target_ == "-") {
    stream_ = &standard_output;
    return;
  }
  struct stat found {};
  if (stat(target_.c_str(), &found) != 0) {
    if (errno != ENOENT)
      fail(errno);
    create_beside();
    fchmodat(AT_FDCWD, temporary_.c_str(), usual_mode(), 0);
  } else if (S_ISDIR(found.st_mode)) {
    fail(EISDIR);
  } else if (access(target_.c_str(), W_OK) != 0) {
    fail(errno);
  } else if (S_ISREG(found.st_mode)) {
    create_beside();
    fchmodat(AT_FDCWD, temporary_.c_str(), found.st_mode & 07777, 0);
  } else {
    // Of a pipe, until somebody reads it.
    ends_at_once now;
    file_.open(target_);
    if (!file_)
      fail(errno);
  }
}

output_file::~output_file() {
  if (temporary_.empty())
    return;
  file_.close();
  remove_temporary();
}

void output_file::commit() {
  if (stream_ != &file_)
    return;
  if (auto error = flush_error(file_))
    fail(*error);
  file_.close();
  if (!file_)
    fail(errno);
  if (temporary_.empty())
    return;
  std::error_code error;
  fs::rename(temporary_, place_of_output(target_), error);
  if (error)
    fail(error.value());
  forget_unfinished(temporary_.string());
  temporary_.clear();
}

void output_file::create_beside() {
  temporary_ = make_unfinished(place_of_output(target_).string());
  if (temporary_.empty())
    fail(errno);
  file_.open(temporary_);
  if (!file_) {
    auto error = errno;
    // The destructor of what was never constructed does not run.
    remove_temporary();
    fail(error);
  }
}

void output_file::remove_temporary() {
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  forget_unfinished(temporary_.string());
}

void output_file::fail(int error) const {
  throw config_error{{{.kind = problem_kind::syntax,
                       .message = cannot_be_written(error),
                       .place = target_.string()}}};
}

fs::path place_of_output(const fs::path& path) {
  // As many as the system follows.
  constexpr int most_links = 40;
  std::error_code error;
  auto out = fs::canonical(path, error);
  if (!error)
    return out;
  // Absolute, as of a file that does not exist `x` would stay another than
  // `./x`.
  out = fs::absolute(path);
  for (int i = 0; i < most_links && fs::is_symlink(out, error); ++i) {
    auto next = fs::read_symlink(out, error);
    if (error)
      break;
    out = out.parent_path() / next;
  }
  auto found = fs::weakly_canonical(out, error);
  return error ? out : found;
}

std::optional<int> flush_error(std::ostream& out) {
  if (out.flush())
    return std::nullopt;
  // Streams keep no reason, but the same again fails for the same one.
  out.clear();
  errno = 0;
  out.flush();
  // Nothing is left of a text that was too long for the stream's buffer.
  if (errno == 0)
    out.put('\n').flush();
  auto error = errno;
  out.setstate(std::ios::badbit);
  return error;
}

std::string cannot_be_written(int error) {
  return "cannot be written: "
         + (error == 0 ? std::string{"unknown error"}
                       : std::generic_category().message(error));
}

} // namespace caisson::sim
