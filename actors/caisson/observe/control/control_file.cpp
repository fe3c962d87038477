#include <caisson/observe/control/control_file.hpp>

#include <caisson/engine/secret_source.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

constexpr auto kind = "caisson control";

/// More than any control file has.
constexpr std::size_t longest = 4'096;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error{fmt::format("{}: {}", path, why)};
}

[[noreturn]] void fail_with_errno(const std::string& path,
                                  const std::string& what) {
  fail(path, fmt::format("{}: {}", what, std::strerror(errno)));
}

/// Closes a descriptor.
class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

private:
  int fd_;
};

/// Whether it is the file that stands there now.
bool is_at(int fd, const std::string& path) {
  struct stat opened {};
  struct stat at_path {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &at_path) == 0
         && opened.st_dev == at_path.st_dev && opened.st_ino == at_path.st_ino;
}

std::string text_in(int fd, const std::string& path) {
  std::array<char, longest> text{};
  auto n = ::pread(fd, text.data(), text.size(), 0);
  if (n < 0)
    fail_with_errno(path, "cannot be read");
  return {text.data(), static_cast<std::size_t>(n)};
}

std::optional<control_address> address_in(const std::string& text) {
  auto x = nlohmann::json::parse(text, nullptr, false);
  if (!x.is_object() || x.value("kind", nlohmann::json{}) != kind)
    return std::nullopt;
  auto port = x.value("port", nlohmann::json{});
  auto token = x.value("token", nlohmann::json{});
  auto process = x.value("process", nlohmann::json{});
  auto stated = x.value("patience", nlohmann::json{});
  auto patience = stated.is_string() ? parse_duration(stated.get<std::string>())
                                     : std::nullopt;
  if (!port.is_number_unsigned() || port > 65'535 || port == 0
      || !token.is_string() || token == "" || !process.is_number_integer()
      || !patience || *patience < duration::zero())
    return std::nullopt;
  return control_address{port.get<std::uint16_t>(), token.get<std::string>(),
                         process.get<std::int64_t>(), *patience};
}

/// Locks the file that stands there, so that another one may take its place;
/// nothing if there is none, or it is another one by now. Throws if it is not
/// to be replaced.
std::optional<descriptor> lock_old(const std::string& path) {
  descriptor old{
    ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (old.get() < 0) {
    if (errno != ENOENT)
      fail_with_errno(path, "cannot be opened");
    return std::nullopt;
  }
  struct stat status {};
  if (::fstat(old.get(), &status) != 0 || !S_ISREG(status.st_mode))
    fail(path, "is not a regular file: choose another path");
  auto text = text_in(old.get(), path);
  auto known = address_in(text);
  if (!known && !text.empty())
    fail(path, "exists and is not a control file: choose another path");
  if (::flock(old.get(), LOCK_EX | LOCK_NB) != 0)
    fail(path, known
                 ? fmt::format("is the control file of process {}, which runs",
                               known->process)
                 : "is being written by another process");
  if (!is_at(old.get(), path))
    return std::nullopt;
  return old;
}

/// Puts `fresh` in the place of `path`. Of several that do so at the same time
/// one succeeds.
void put_in_place(const std::string& fresh, const std::string& path) {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    if (auto old = lock_old(path)) {
      if (::rename(fresh.c_str(), path.c_str()) != 0)
        fail_with_errno(path, "cannot be written");
      return;
    }
    // Unlike `rename` it replaces nothing.
    if (::link(fresh.c_str(), path.c_str()) == 0) {
      ::unlink(fresh.c_str());
      return;
    }
    if (errno != EEXIST)
      fail_with_errno(path, "cannot be written");
  }
  fail(path, "is overwritten by other processes again and again");
}

void write_all(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    auto n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR)
      fail_with_errno(path, "cannot be written");
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
}

} // namespace

std::string new_token() {
  secret_source bits{std::nullopt};
  return fmt::format("{:016x}{:016x}", bits.bits(), bits.bits());
}

bool same_token(const std::string& a, const std::string& b) noexcept {
  if (a.size() != b.size())
    return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i])
                 ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

control_address read_control_file(const std::string& path) {
  descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (file.get() < 0)
    fail_with_errno(path, "cannot be opened");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    fail(path, "is not a regular file: name the one that the program "
               "writes");
  auto out = address_in(text_in(file.get(), path));
  if (!out)
    fail(path, "is not a control file: name the one that the program writes");
  if (status.st_uid != ::geteuid() && ::geteuid() != 0)
    fail(path, "belongs to another user");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    fail(
      path,
      "can be read or written by users other than its owner, so its token is "
      "not secret: restart the program");
  return *out;
}

control_file::control_file(std::string path, const control_address& x)
  : path_(std::move(path)) {
  // Says at once what is wrong with that path.
  static_cast<void>(lock_old(path_));
  auto fresh = path_ + ".XXXXXX";
  // With mode 0600.
  descriptor file{::mkostemp(fresh.data(), O_CLOEXEC)};
  if (file.get() < 0)
    fail_with_errno(path_, "cannot be written");
  try {
    nlohmann::ordered_json text{
      {"kind", kind},         {"address", fmt::format("127.0.0.1:{}", x.port)},
      {"port", x.port},       {"token", x.token},
      {"process", x.process}, {"patience", to_text(x.patience)}};
    write_all(file.get(), text.dump(2) + '\n', path_);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
      fail_with_errno(path_, "cannot be locked");
    put_in_place(fresh, path_);
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
  fd_ = file.release();
}

control_file::~control_file() {
  if (is_at(fd_, path_))
    ::unlink(path_.c_str());
  ::close(fd_);
}

} // namespace caisson::detail
