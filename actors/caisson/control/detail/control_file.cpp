#include <caisson/control/detail/control_file.hpp>

#include <caisson/detail/secret_source.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
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
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

private:
  int fd_;
};

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
  if (!port.is_number_unsigned() || port > 65'535 || port == 0
      || !token.is_string() || token == "" || !process.is_number_integer())
    return std::nullopt;
  return control_address{port.get<std::uint16_t>(), token.get<std::string>(),
                         process.get<std::int64_t>()};
}

/// Throws unless another file may take the place of that one, or there is none.
void require_free(const std::string& path) {
  descriptor old{
    ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (old.get() < 0) {
    if (errno != ENOENT)
      fail_with_errno(path, "cannot be opened");
    return;
  }
  struct stat about {};
  if (::fstat(old.get(), &about) != 0 || !S_ISREG(about.st_mode))
    fail(path, "is no file");
  auto text = text_in(old.get(), path);
  auto known = address_in(text);
  if (!known && !text.empty())
    fail(path, "is something else than a control file; it is left alone");
  if (::flock(old.get(), LOCK_EX | LOCK_NB) != 0)
    fail(path, known
                 ? fmt::format("is the control file of process {}, which runs",
                               known->process)
                 : "is being written by another process");
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
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    fail(path, "is no file");
  auto out = address_in(text_in(file.get(), path));
  if (!out)
    fail(path, "is no control file");
  if (about.st_uid != ::geteuid() && ::geteuid() != 0)
    fail(path, "belongs to another user");
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    fail(path, "can be read or written by others than its owner, so that its "
               "token is no secret; start the program anew");
  return *out;
}

control_file::control_file(std::string path, const control_address& x)
  : path_(std::move(path)) {
  require_free(path_);
  auto fresh = path_ + ".XXXXXX";
  // With mode 0600.
  descriptor file{::mkostemp(fresh.data(), O_CLOEXEC)};
  if (file.get() < 0)
    fail_with_errno(path_, "cannot be written");
  try {
    nlohmann::ordered_json text{
      {"kind", kind},
      {"address", fmt::format("127.0.0.1:{}", x.port)},
      {"port", x.port},
      {"token", x.token},
      {"process", x.process}};
    write_all(file.get(), text.dump(2) + '\n', path_);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
      fail_with_errno(path_, "cannot be locked");
    if (::rename(fresh.c_str(), path_.c_str()) != 0)
      fail_with_errno(path_, "cannot be written");
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
  fd_ = file.release();
}

control_file::~control_file() {
  struct stat mine {};
  struct stat there {};
  if (::fstat(fd_, &mine) == 0 && ::lstat(path_.c_str(), &there) == 0
      && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
    ::unlink(path_.c_str());
  ::close(fd_);
}

} // namespace caisson::detail
