// Certificates made on the fly by the command openssl, for demos and tests. A
// real system gets its own from an authority that is kept apart.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>

namespace demo {

/// A directory that is removed at the end.
class scratch_directory {
public:
  scratch_directory() {
    std::random_device entropy;
    path_ = std::filesystem::temp_directory_path()
            / ("caisson-" + std::to_string(entropy()));
    std::filesystem::create_directory(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }

  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (path_ / name).string();
  }

  [[nodiscard]] std::string name() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

namespace detail {

inline void openssl(const scratch_directory& in, const std::string& words) {
  auto line = "cd '" + in.name() + "' && openssl " + words + " >log 2>&1";
  if (std::system(line.c_str()) != 0)
    throw std::runtime_error{"failed: openssl " + words};
}

constexpr auto new_key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
                         " -nodes -subj /CN=";

} // namespace detail

/// Makes NAME.pem and NAME.key of an authority, which signs itself.
inline void make_authority(const scratch_directory& in,
                           const std::string& name = "authority") {
  detail::openssl(in, "req -x509 -days 2" + (detail::new_key + name)
                        + " -keyout " + name + ".key -out " + name + ".pem");
}

/// Makes NAME.pem and NAME.key, signed by `authority`.
inline void make_certificate(const scratch_directory& in,
                             const std::string& name,
                             const std::string& authority = "authority") {
  detail::openssl(in, "req" + (detail::new_key + name) + " -keyout " + name
                        + ".key -out " + name + ".request");
  detail::openssl(in, "x509 -req -days 2 -in " + name + ".request -CA "
                        + authority + ".pem -CAkey " + authority
                        + ".key -CAcreateserial -out " + name + ".pem");
}

} // namespace demo
